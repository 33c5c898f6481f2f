// Stores the attempts of another job queue (a peer) in our own table `attempts` in PostgreSQL, many in one
// statement. A job is done only when its attempt is committed, so each job waits for that.

import pg from "pg";
import type { SignedRequest } from "./signed-request.ts";

export interface PeerAttempt {
	number: number;
	shop: number;
	request: SignedRequest;
	endedAtMs: number;
}

interface Waiting {
	attempt: PeerAttempt;
	resolve(): void;
	reject(error: unknown): void;
}

/** The statement with which the service itself stores a successful attempt. */
const INSERT = `
	insert into attempts (delivery_id, seq, run, result, http_status, started_at_ms, took_ms,
		answer_ms, endpoint_id, nonce, signature)
	select number, 1, 1, 'answered', 204, started_at_ms, took_ms, took_ms, shop, nonce, signature
	from unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::double precision[], $5::text[], $6::text[])
		as t (number, shop, started_at_ms, took_ms, nonce, signature)`;

/** Number of waiting rows at which a statement is sent. */
const BATCH_ROWS = 128;
/** Maximum time that a row waits for others before the statement is sent. */
const BATCH_WAIT_MS = 5;

export class PeerAttempts {
	readonly #pool: pg.Pool;
	#waiting: Waiting[] = [];
	#timer: NodeJS.Timeout | null = null;

	constructor(postgresUrl: string) {
		this.#pool = new pg.Pool({ connectionString: postgresUrl, max: 2 });
	}

	/** Stores the attempt together with others. Resolves when it is committed. */
	store(attempt: PeerAttempt): Promise<void> {
		return new Promise((resolve, reject) => {
			this.#waiting.push({ attempt, resolve, reject });
			if (this.#waiting.length >= BATCH_ROWS) void this.#flush();
			else this.#timer ??= setTimeout(() => void this.#flush(), BATCH_WAIT_MS);
		});
	}

	async storeAll(attempts: readonly PeerAttempt[]): Promise<void> {
		await this.#pool.query({
			name: "store_attempts",
			text: INSERT,
			values: [
				attempts.map(({ number }) => number),
				attempts.map(({ shop }) => shop),
				attempts.map(({ request }) => request.startedAtMs),
				attempts.map(({ request, endedAtMs }) => endedAtMs - request.startedAtMs),
				attempts.map(({ request }) => request.nonce),
				attempts.map(({ request }) => request.signature),
			],
		});
	}

	/**
	 * Updates the planner's statistics after the jobs were inserted, so that old statistics do not slow down a
	 * peer.
	 */
	async analyze(): Promise<void> {
		await this.#pool.query("analyze");
	}

	async count(): Promise<number> {
		const { rows } = await this.#pool.query<{ count: string }>("select count(*) from attempts");
		return Number(rows[0]?.count);
	}

	close(): Promise<void> {
		return this.#pool.end();
	}

	async #flush(): Promise<void> {
		if (this.#timer !== null) clearTimeout(this.#timer);
		this.#timer = null;
		const batch = this.#waiting;
		this.#waiting = [];
		try {
			await this.storeAll(batch.map(({ attempt }) => attempt));
			for (const { resolve } of batch) resolve();
		} catch (error) {
			for (const { reject } of batch) reject(error);
		}
	}
}
