/* A program that writes down how it was called, and does nothing else. */
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

int main(int count, char **words) {
    static char line[1 << 17];
    size_t end = strlen(NAME);
    memcpy(line, NAME, end);
    for (int at = 1; at < count; at++) {
        size_t length = strlen(words[at]);
        if (end + length + 2 > sizeof line) return 99;
        line[end++] = '\037';
        memcpy(line + end, words[at], length);
        /* What is read from a file may hold the marks of this log. */
        for (size_t to = end + length; end < to; end++)
            if (line[end] >= '\035' && line[end] <= '\037') line[end] = '?';
    }
    line[end++] = '\036';
    /* One write for all, so that no other comes between. */
    int log = open(LOG, O_WRONLY | O_APPEND);
    if (log < 0 || write(log, line, end) != (ssize_t)end) return 98;
    return strcmp(NAME, "beta") == 0;
}
