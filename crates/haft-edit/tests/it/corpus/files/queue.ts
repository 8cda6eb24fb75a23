import { EventEmitter } from 'events';
import type { Logger } from './logger';

export interface Job<T> {
  id: string;
  payload: T;
  attempts: number;
  delay?: number;
}

export interface QueueOptions {
  concurrency: number;
  retries: number;
  logger: Logger;
}

type Handler<T> = (job: Job<T>) => Promise<void>;

/** A queue that runs a few jobs at a time. */
export class Queue<T> extends EventEmitter {
  private waiting: Job<T>[] = [];
  private running = new Map<string, Job<T>>();

  constructor(private handler: Handler<T>, private options: QueueOptions) {
    super();
  }

  push(job: Job<T>): void {
    this.waiting.push(job);
    this.emit('pushed', job.id);
    this.schedule();
  }

  get size(): number {
    return this.waiting.length + this.running.size;
  }

  private schedule(): void {
    while (this.running.size < this.options.concurrency && this.waiting.length > 0) {
      const job = this.waiting.shift()!;
      this.running.set(job.id, job);
      void this.run(job);
    }
  }

  private async run(job: Job<T>): Promise<void> {
    try {
      job.attempts += 1;
      await this.handler(job);
      this.emit('done', job.id);
    } catch (error) {
      this.options.logger.warn(`job ${job.id} failed`, { error });
      // Try again until the retries are used up.
      if (job.attempts <= this.options.retries) {
        this.waiting.push(job);
      } else {
        this.emit('failed', job.id, error);
      }
    } finally {
      this.running.delete(job.id);
      this.schedule();
    }
  }

  async drain(): Promise<void> {
    if (this.size === 0) {
      return;
    }
    await new Promise<void>((resolve) => {
      this.on('done', () => {
        if (this.size === 0) resolve();
      });
    });
  }
}
