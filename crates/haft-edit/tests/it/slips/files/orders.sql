-- What was ordered, by month and by country.
CREATE TABLE orders (
    id          BIGINT PRIMARY KEY,
    customer_id BIGINT NOT NULL REFERENCES customers (id),
    placed_at   TIMESTAMP NOT NULL DEFAULT now(),
    state       TEXT NOT NULL CHECK (state IN ('open', 'paid', 'sent')),
    total       NUMERIC(12, 2) NOT NULL
);

CREATE INDEX orders_by_customer ON orders (customer_id, placed_at);

CREATE VIEW monthly AS
SELECT
    date_trunc('month', o.placed_at) AS month,
    c.country,
    count(*)     AS orders,
    sum(o.total) AS total
FROM orders o
JOIN customers c ON c.id = o.customer_id
WHERE o.state <> 'open'
GROUP BY 1, 2;

-- Open orders that are older than a week.
SELECT o.id, c.name
FROM orders o
JOIN customers c ON c.id = o.customer_id
WHERE o.state = 'open'
    AND o.placed_at < now() - INTERVAL '7 days'
ORDER BY o.placed_at
LIMIT 100;
