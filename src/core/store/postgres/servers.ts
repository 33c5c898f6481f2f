// Chooses the server that accepts writes among the hosts of an address, because `pg` connects to only one host. The
// server stays chosen until it fails or refuses writes. Then all hosts are asked at once.

import pg from "pg";
import type { Log } from "../../ports.ts";

export interface Servers {
	/** Resolves when a server has been chosen. Never rejects. */
	ready(): Promise<void>;
	url(): string;
	/** Asks all hosts again. Resolves to true if another server was chosen. Never rejects. */
	lookAgain(): Promise<boolean>;
	/** Calls `run` whenever another server has been chosen. */
	onChange(run: () => void): void;
}

/** Time limit for connecting, and again for the answer. A server in the same region needs a few milliseconds. */
const ASK_TIMEOUT_MS = 2_000;

export function chooseServer(urls: readonly string[], log: Log): Servers {
	const [first = ""] = urls;
	let chosen = first;
	let looking: Promise<boolean> | null = null;
	let isReady: Promise<unknown> | null = null;
	const listeners = new Set<() => void>();

	async function look(): Promise<boolean> {
		// The chosen server is asked first, so that the choice does not change if two servers accept writes.
		const candidates = [chosen, ...urls.filter((url) => url !== chosen)];
		const accepting = await Promise.all(candidates.map(acceptsWrites));
		const found = candidates.find((_, index) => accepting[index] === true);
		if (found === undefined || found === chosen) return false;
		chosen = found;
		log.warn({ host: hostOf(found) }, "another PostgreSQL server accepts writes and is used from now on");
		for (const run of listeners) run();
		return true;
	}

	function lookAgain(): Promise<boolean> {
		if (urls.length === 1) return Promise.resolve(false);
		looking ??= look().finally(() => {
			looking = null;
		});
		return looking;
	}

	return {
		async ready() {
			isReady ??= lookAgain();
			await isReady;
		},
		url: () => chosen,
		lookAgain,
		onChange: (run) => void listeners.add(run),
	};
}

function hostOf(url: string): string {
	return new URL(url).host;
}

/** Returns false if the server is a standby, was set to read-only, or does not answer. Never rejects. */
async function acceptsWrites(url: string): Promise<boolean> {
	const client = new pg.Client({
		connectionString: url,
		connectionTimeoutMillis: ASK_TIMEOUT_MS,
		query_timeout: ASK_TIMEOUT_MS,
		application_name: "ringback-find-server",
	});
	// The waiting query fails with the same error. Without this listener the error would also end the process.
	client.on("error", () => undefined);
	try {
		await client.connect();
		const { rows } = await client.query<{ isReadOnly: boolean }>(
			`select current_setting('transaction_read_only')::bool as "isReadOnly"`,
		);
		return rows[0]?.isReadOnly === false;
	} catch {
		// A server that cannot be asked is not chosen. If no server can be chosen, the next query fails and reports the
		// reason.
		return false;
	} finally {
		// The result of `end` is not awaited, because a server that has just fallen silent would not answer.
		client.end().catch(() => undefined);
	}
}
