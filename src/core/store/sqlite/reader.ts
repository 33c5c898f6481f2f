// Runs the queries of pages, searches, sums and exports on a separate thread, which has its own read-only
// connection. SQLite runs each statement on the thread that calls it, so a page that reads a large table
// would otherwise keep every signed sale waiting. A statement sees everything that was committed before it
// was sent, because it starts a new read of the write-ahead log.

import type { SQLInputValue } from "node:sqlite";
import { Worker } from "node:worker_threads";
import type { DatabaseConnection, Driver, QueryResult } from "kysely";
import type { Clock } from "../../ports.ts";
import { READER_ENDED } from "../unavailable.ts";
import { MAX_CACHED_STATEMENTS, toRecords } from "./rows.ts";

/**
 * Time for which a statement waits for a lock on the file. A reader needs a lock only while the write-ahead log is
 * recovered.
 */
const LOCK_TIMEOUT_MS = 5_000;

/**
 * Maximum number of answers passed to their callers in one round of the event loop. Each answer may start a few
 * milliseconds of rendering, and signed requests are read from their sockets only between two rounds.
 */
export const ANSWERS_PER_ROUND = 4;

interface ReadRequest {
	id: number;
	sql: string;
	parameters: readonly SQLInputValue[];
}

type ReadAnswer =
	| { id: number; columns: readonly string[]; rows: readonly (readonly unknown[])[] }
	| { id: number; failure: { message: string; code: string; errcode: number } };

/** Sends each query to the thread, which runs the queries in the order in which they were sent. */
export class ReaderDriver implements Driver {
	readonly #thread: ReaderThread;

	constructor(thread: ReaderThread) {
		this.#thread = thread;
	}

	async init(): Promise<void> {
		// No connection is opened here. The thread starts with the first query, because most commands read no lists.
	}

	async acquireConnection(): Promise<DatabaseConnection> {
		const thread = this.#thread;
		return {
			async executeQuery<Row>({ sql, parameters }: { sql: string; parameters: readonly unknown[] }) {
				const rows = await thread.read(sql, parameters as readonly SQLInputValue[]);
				return { rows: rows as Row[] } satisfies QueryResult<Row>;
			},
			streamQuery(): never {
				throw new Error("streaming is not supported");
			},
		};
	}

	async releaseConnection(): Promise<void> {
		// Connections need no release, because all queries share the thread.
	}

	async beginTransaction(): Promise<never> {
		throw new Error("the reader has no transactions");
	}

	async commitTransaction(): Promise<never> {
		throw new Error("the reader has no transactions");
	}

	async rollbackTransaction(): Promise<never> {
		throw new Error("the reader has no transactions");
	}

	async destroy(): Promise<void> {
		await this.#thread.close();
	}
}

/** Thread that runs reads. It starts when it is first needed, and again after it has ended unexpectedly. */
export class ReaderThread {
	readonly #path: string;
	readonly #clock: Pick<Clock, "yieldLoop">;
	readonly #pending = new Map<number, PromiseWithResolvers<readonly object[]>>();
	/** Answers that have arrived but were not passed to their callers yet. */
	readonly #answers: ReadAnswer[] = [];
	#worker: Worker | null = null;
	#isPassingOn = false;
	#isClosed = false;
	#lastId = 0;

	constructor(path: string, clock: Pick<Clock, "yieldLoop">) {
		this.#path = path;
		this.#clock = clock;
	}

	get pendingReads(): number {
		return this.#pending.size;
	}

	read(sql: string, parameters: readonly SQLInputValue[]): Promise<readonly object[]> {
		if (this.#isClosed) return Promise.reject(new Error("the store is closed"));
		this.#worker ??= this.#start();
		const request: ReadRequest = { id: ++this.#lastId, sql, parameters };
		const answered = Promise.withResolvers<readonly object[]>();
		this.#pending.set(request.id, answered);
		// The process must not end before the answer has arrived, so the running thread keeps it alive.
		this.#worker.ref();
		this.#worker.postMessage(request);
		return answered.promise;
	}

	/** Waits for all queries that were sent, and then closes the connection and ends the thread. */
	async close(): Promise<void> {
		this.#isClosed = true;
		await Promise.allSettled([...this.#pending.values()].map(({ promise }) => promise));
		const worker = this.#worker;
		if (worker === null) return;
		const ended = new Promise((resolve) => worker.once("exit", resolve));
		worker.ref();
		worker.postMessage(null);
		await ended;
	}

	#start(): Worker {
		const worker = new Worker(`(${serveReads.toString()})()`, {
			eval: true,
			name: "sqlite-reader",
			// Options of this process, such as hooks for loading modules, would only delay the thread's start.
			execArgv: [],
			workerData: {
				path: this.#path,
				timeout: LOCK_TIMEOUT_MS,
				maxStatements: MAX_CACHED_STATEMENTS,
			} satisfies ReaderSettings,
		});
		worker.on("message", (answer: ReadAnswer) => {
			this.#answers.push(answer);
			void this.#passOn();
		});
		worker.once("error", (error) => this.#failAll(worker, error));
		worker.once("exit", () => this.#failAll(worker, undefined));
		return worker;
	}

	async #passOn(): Promise<void> {
		if (this.#isPassingOn) return;
		this.#isPassingOn = true;
		while (this.#answers.length > 0) {
			for (const answer of this.#answers.splice(0, ANSWERS_PER_ROUND)) this.#settle(answer);
			await this.#clock.yieldLoop();
		}
		this.#isPassingOn = false;
	}

	#settle(answer: ReadAnswer): void {
		const answered = this.#pending.get(answer.id);
		this.#pending.delete(answer.id);
		if (this.#pending.size === 0) this.#worker?.unref();
		if ("failure" in answer)
			answered?.reject(Object.assign(new Error(answer.failure.message), answer.failure));
		else answered?.resolve(toRecords(answer.columns, answer.rows));
	}

	/** Fails all waiting reads. The thread's connection writes nothing, so callers may simply repeat the read. */
	#failAll(worker: Worker, cause: unknown): void {
		if (this.#worker !== worker) return;
		this.#worker = null;
		for (const { reject } of this.#pending.values()) {
			reject(
				Object.assign(new Error("the thread that reads the database has ended", { cause }), {
					code: READER_ENDED,
				}),
			);
		}
		this.#pending.clear();
	}
}

interface ReaderSettings {
	path: string;
	timeout: number;
	maxStatements: number;
}

/**
 * Main function of the thread. It is passed as text, because the program may be a single file, so there is no other
 * file from which a thread could start. It must therefore use no name from outside its own body.
 */
function serveReads(): void {
	const { parentPort, workerData } = process.getBuiltinModule("node:worker_threads");
	const { DatabaseSync } = process.getBuiltinModule("node:sqlite");
	const { path, timeout, maxStatements }: ReaderSettings = workerData;
	const database = new DatabaseSync(path, { readOnly: true, timeout });
	const prepare = (sql: string) => {
		const statement = database.prepare(sql);
		statement.setReturnArrays(true);
		return { statement, columns: statement.columns().map(({ name }) => name) };
	};
	const statements = new Map<string, ReturnType<typeof prepare>>();

	const answer = ({ id, sql, parameters }: ReadRequest): unknown => {
		try {
			let prepared = statements.get(sql);
			if (prepared === undefined) {
				if (statements.size >= maxStatements) statements.clear();
				prepared = prepare(sql);
				statements.set(sql, prepared);
			}
			return { id, columns: prepared.columns, rows: prepared.statement.all(...parameters) };
		} catch (error) {
			const { message, code, errcode } = error as Error & { code: string; errcode: number };
			return { id, failure: { message, code, errcode } };
		}
	};

	parentPort?.on("message", (request: ReadRequest | null) => {
		if (request === null) {
			database.close();
			parentPort.close();
		} else {
			parentPort.postMessage(answer(request));
		}
	});
}
