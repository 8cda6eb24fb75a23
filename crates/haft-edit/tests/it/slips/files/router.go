package router

import (
	"errors"
	"net/http"
	"strings"
)

// ErrNoRoute says that nothing answers to a path.
var ErrNoRoute = errors.New("router: no route")

type handler func(w http.ResponseWriter, r *http.Request) error

type node struct {
	part     string
	children []*node
	handle   handler
}

func (n *node) find(parts []string) (*node, error) {
	if len(parts) == 0 {
		if n.handle == nil {
			return nil, ErrNoRoute
		}
		return n, nil
	}
	for _, child := range n.children {
		switch {
		case child.part == parts[0]:
			return child.find(parts[1:])
		case strings.HasPrefix(child.part, ":"):
			return child.find(parts[1:])
		default:
			continue
		}
	}
	return nil, ErrNoRoute
}

// Router answers requests.
type Router struct {
	root  node
	Trace func(string)
}

func (r *Router) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	parts := strings.Split(strings.Trim(req.URL.Path, "/"), "/")
	found, err := r.root.find(parts)
	if err != nil {
		http.Error(w, "not found: \"" + req.URL.Path + "\"", http.StatusNotFound)
		return
	}
	if r.Trace != nil {
		r.Trace(req.Method + "\t" + req.URL.Path)
	}
	if err := found.handle(w, req); err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
	}
}
