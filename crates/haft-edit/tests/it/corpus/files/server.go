package server

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"
)

// ErrNotFound is returned when a key is unknown.
var ErrNotFound = errors.New("not found")

// Store keeps values in memory.
type Store struct {
	mu     sync.RWMutex
	values map[string]entry
	ttl    time.Duration
}

type entry struct {
	value   string
	expires time.Time
}

// Get returns the value of a key.
func (s *Store) Get(key string) (string, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()

	found, ok := s.values[key]
	if !ok || time.Now().After(found.expires) {
		return "", fmt.Errorf("get %q: %w", key, ErrNotFound)
	}
	return found.value, nil
}

// Set keeps a value until it expires.
func (s *Store) Set(key, value string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.values[key] = entry{value: value, expires: time.Now().Add(s.ttl)}
}

// Server answers requests from a store.
type Server struct {
	store *Store
	http  *http.Server
}

func (s *Server) handleGet(w http.ResponseWriter, r *http.Request) {
	key := r.URL.Query().Get("key")
	if key == "" {
		http.Error(w, "missing key", http.StatusBadRequest)
		return
	}
	value, err := s.store.Get(key)
	switch {
	case errors.Is(err, ErrNotFound):
		http.Error(w, err.Error(), http.StatusNotFound)
	case err != nil:
		http.Error(w, "internal error", http.StatusInternalServerError)
	default:
		if err := json.NewEncoder(w).Encode(map[string]string{"value": value}); err != nil {
			fmt.Println("encode:", err)
		}
	}
}

// Shutdown waits for requests to end.
func (s *Server) Shutdown(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	return s.http.Shutdown(ctx)
}
