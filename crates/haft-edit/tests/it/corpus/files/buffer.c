#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "buffer.h"

#define INITIAL_CAPACITY 64
#define MAX_CAPACITY (1 << 24)

struct buffer {
    char   *data;
    size_t  length;
    size_t  capacity;
};

/* Makes room for so many more bytes. */
static int buffer_reserve(struct buffer *buf, size_t more)
{
    size_t needed = buf->length + more;
    size_t capacity = buf->capacity ? buf->capacity : INITIAL_CAPACITY;

    while (capacity < needed) {
        capacity *= 2;
    }
    if (capacity > MAX_CAPACITY) {
        errno = ENOMEM;
        return -1;
    }
    char *data = realloc(buf->data, capacity);
    if (data == NULL)
        return -1;
    buf->data = data;
    buf->capacity = capacity;
    return 0;
}

int buffer_append(struct buffer *buf, const char *bytes, size_t count)
{
    if (buffer_reserve(buf, count + 1) != 0) {
        fprintf(stderr, "append: %s\n", strerror(errno));
        return -1;
    }
    memcpy(buf->data + buf->length, bytes, count);
    buf->length += count;
    buf->data[buf->length] = '\0';
    return 0;
}

int buffer_read(struct buffer *buf, FILE *stream)
{
    char chunk[4096];
    size_t count;

    while ((count = fread(chunk, 1, sizeof chunk, stream)) > 0) {
        if (buffer_append(buf, chunk, count) != 0)
            return -1;
    }
    return ferror(stream) ? -1 : 0;
}

void buffer_free(struct buffer *buf)
{
    free(buf->data);
    memset(buf, 0, sizeof *buf);
}
