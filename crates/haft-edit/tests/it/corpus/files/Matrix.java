package org.example.math;

import java.util.Arrays;
import java.util.Objects;

/**
 * A matrix of doubles with a fixed size.
 */
public final class Matrix {
    private final int rows;
    private final int columns;
    private final double[] cells;

    public Matrix(int rows, int columns) {
        if (rows <= 0 || columns <= 0) {
            throw new IllegalArgumentException("a matrix has at least one row and one column");
        }
        this.rows = rows;
        this.columns = columns;
        this.cells = new double[rows * columns];
    }

    public double get(int row, int column) {
        return cells[index(row, column)];
    }

    public void set(int row, int column, double value) {
        cells[index(row, column)] = value;
    }

    private int index(int row, int column) {
        Objects.checkIndex(row, rows);
        Objects.checkIndex(column, columns);
        return row * columns + column;
    }

    /** Multiplies two matrices. */
    public Matrix times(Matrix other) {
        if (columns != other.rows) {
            throw new IllegalArgumentException("sizes do not fit: " + columns + " and " + other.rows);
        }
        Matrix product = new Matrix(rows, other.columns);
        for (int row = 0; row < rows; row++) {
            for (int column = 0; column < other.columns; column++) {
                double sum = 0;
                for (int step = 0; step < columns; step++) {
                    sum += get(row, step) * other.get(step, column);
                }
                product.set(row, column, sum);
            }
        }
        return product;
    }

    @Override
    public boolean equals(Object object) {
        return object instanceof Matrix other
            && rows == other.rows
            && columns == other.columns
            && Arrays.equals(cells, other.cells);
    }

    @Override
    public int hashCode() {
        return 31 * rows + Arrays.hashCode(cells);
    }
}
