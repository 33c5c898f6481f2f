// "Something has become due", across processes: NOTIFY after the commit, LISTEN on a connection of its own.
// It is only a hint that saves waiting: engines poll behind it, so a lost notification loses nothing.

import pg from "pg";
import type { Clock, Log } from "../ports.ts";
import type { DueListeners } from "./store.ts";

const CHANNEL = "ringback_due";
/** PostgreSQL refuses payloads of 8,000 bytes; past this many ids the word is just "look". */
const MAX_IDS_IN_PAYLOAD = 400;
const RECONNECT_DELAY_MS = 1_000;

export interface DueChannel {
	announce(programmeIds: readonly number[]): void;
	startListening(): void;
	close(): Promise<void>;
}

export function createDueChannel(
	url: string,
	listeners: DueListeners,
	{ clock, log }: { clock: Clock; log: Log },
	notify: (payload: { channel: string; text: string }) => Promise<unknown>,
): DueChannel {
	let client: pg.Client | undefined;
	let isClosed = false;
	let isListening = false;
	let waiting = new Set<number>();
	let isNotifying = false;

	async function connect(): Promise<void> {
		const fresh = new pg.Client({ connectionString: url, keepAlive: true });
		fresh.on("notification", ({ payload }) => listeners.tell(parseIds(payload ?? "")));
		fresh.on("error", () => reconnectLater(fresh));
		fresh.on("end", () => reconnectLater(fresh));
		client = fresh;
		try {
			await fresh.connect();
			await fresh.query(`listen ${CHANNEL}`);
			// What was announced while nobody listened is found by looking.
			listeners.tell([]);
		} catch {
			reconnectLater(fresh);
		}
	}

	function reconnectLater(broken: pg.Client): void {
		if (isClosed || client !== broken) return;
		client = undefined;
		log.warn({}, "the wake-up connection broke; polling until it is back");
		broken.end().catch(() => undefined); // It is broken already: there is nothing to learn from its end.
		clock.after(RECONNECT_DELAY_MS, () => {
			if (!isClosed) void connect();
		});
	}

	/** One notification under way at a time; what comes meanwhile goes together in the next. */
	async function flush(): Promise<void> {
		if (isNotifying) return;
		isNotifying = true;
		while (waiting.size > 0 && !isClosed) {
			const text = formatIds(waiting);
			waiting = new Set();
			// A lost hint costs the poll interval, nothing more.
			await notify({ channel: CHANNEL, text }).catch(() => undefined);
		}
		isNotifying = false;
	}

	return {
		announce(programmeIds) {
			// An engine in this process takes it at once; the others need not be woken for it.
			if (!listeners.isEmpty) return listeners.tell(programmeIds);
			for (const id of programmeIds) waiting.add(id);
			void flush();
		},
		startListening() {
			if (isListening) return;
			isListening = true;
			void connect();
		},
		async close() {
			isClosed = true;
			await client?.end().catch(() => undefined); // Closing: a connection that is gone is as good as ended.
		},
	};
}

function formatIds(ids: ReadonlySet<number>): string {
	return ids.size > MAX_IDS_IN_PAYLOAD ? "" : [...ids].join(",");
}

/** An empty list means: look everywhere. */
function parseIds(payload: string): number[] {
	return payload
		.split(",")
		.filter((part) => /^\d+$/.test(part))
		.map(Number);
}
