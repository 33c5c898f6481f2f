// "Something has become due", across processes: NOTIFY after the commit, LISTEN on a connection of its own.
// It is only a hint that saves waiting: engines poll behind it, so a lost notification loses nothing.

import pg from "pg";
import type { Clock, Log } from "../ports.ts";
import type { DueListeners } from "./store.ts";

const CHANNEL = "ringback_due";
/** PostgreSQL refuses payloads of 8,000 bytes; past this many ids the word is "anywhere". */
const MAX_IDS_IN_PAYLOAD = 400;
const ANYWHERE = "anywhere";
const CONNECT_TIMEOUT_MS = 5_000;
/** For the goodbye on closing: a server that is gone does not answer it. */
const END_TIMEOUT_MS = 1_000;
const RECONNECT_DELAY_MS = 1_000;

export interface DueChannel {
	/** To the engine of this process, and to the others what it cannot take care of. */
	announce(receiverIds: readonly number[]): void;
	/** To the engines of other processes too, whatever this one has. */
	announceEverywhere(receiverIds: readonly number[]): void;
	startListening(): void;
	close(): Promise<void>;
}

export function createDueChannel(
	url: string,
	listeners: DueListeners,
	{ clock, log, name }: { clock: Clock; log: Log; name: string },
	notify: (payload: { channel: string; text: string }) => Promise<unknown>,
): DueChannel {
	let client: pg.Client | undefined;
	let isClosed = false;
	let isListening = false;
	let waiting = new Set<number>();
	let isNotifying = false;
	let cancelReconnect = (): void => undefined;

	async function connect(): Promise<void> {
		const fresh = new pg.Client({
			connectionString: url,
			keepAlive: true,
			application_name: `${name}-listen`,
			connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
		});
		fresh.on("notification", ({ payload }) => listeners.tell(parsePayload(payload ?? "")));
		fresh.on("error", () => reconnectLater(fresh));
		fresh.on("end", () => reconnectLater(fresh));
		client = fresh;
		try {
			await fresh.connect();
			await fresh.query(`listen ${CHANNEL}`);
			// What was announced while nobody listened is found by looking.
			listeners.tell("anywhere");
		} catch {
			reconnectLater(fresh);
		}
	}

	function reconnectLater(broken: pg.Client): void {
		if (isClosed || client !== broken) return;
		client = undefined;
		log.warn({}, "the wake-up connection broke; polling until it is back");
		broken.end().catch(() => undefined); // It is broken already: there is nothing to learn from its end.
		cancelReconnect = clock.after(RECONNECT_DELAY_MS, () => void connect());
	}

	/** One notification under way at a time; what comes meanwhile goes together in the next. */
	async function flush(): Promise<void> {
		if (isNotifying) return;
		isNotifying = true;
		while (waiting.size > 0 && !isClosed) {
			const text = formatPayload(waiting);
			waiting = new Set();
			// A lost hint costs the poll interval, nothing more.
			await notify({ channel: CHANNEL, text }).catch(() => undefined);
		}
		isNotifying = false;
	}

	function notifyOthers(receiverIds: readonly number[]): void {
		for (const id of receiverIds) waiting.add(id);
		void flush();
	}

	return {
		announce: (receiverIds) => notifyOthers(listeners.tell(receiverIds)),
		announceEverywhere(receiverIds) {
			listeners.tell(receiverIds);
			notifyOthers(receiverIds);
		},
		startListening() {
			if (isListening) return;
			isListening = true;
			void connect();
		},
		async close() {
			isClosed = true;
			cancelReconnect();
			const present = client;
			if (present === undefined) return;
			await new Promise<void>((resolve) => {
				const cancel = clock.after(END_TIMEOUT_MS, resolve);
				// A connection that is gone is as good as ended.
				present
					.end()
					.then(resolve, () => resolve())
					.finally(cancel);
			});
		},
	};
}

function formatPayload(ids: ReadonlySet<number>): string {
	return ids.size > MAX_IDS_IN_PAYLOAD ? ANYWHERE : [...ids].join(",");
}

function parsePayload(payload: string): number[] | "anywhere" {
	const parts = payload.split(",");
	return parts.every((part) => /^\d+$/.test(part)) ? parts.map(Number) : ANYWHERE;
}
