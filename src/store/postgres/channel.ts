// What engines of other processes must hear of: NOTIFY after the commit, LISTEN on a connection of its own. Where a
// notification may have been lost, engines are told to look for themselves.
//
//   payload: "<due>:<id>,<id>,…" something of these programmes is due · "change:<id>" its URL or secret has changed ·
//            "anywhere" look for yourselves

import pg from "pg";
import type { Clock, Log } from "../../ports.ts";
import type { Owed } from "../queries/queue.ts";
import type { DueListeners } from "../store.ts";

const CHANNEL = "ringback_due";
/** PostgreSQL refuses payloads of 8,000 bytes. */
const MAX_IDS_IN_PAYLOAD = 400;
const ANYWHERE = "anywhere";
const CONNECT_TIMEOUT_MS = 5_000;
/** For the goodbye on closing: a server that is gone does not answer it. */
const END_TIMEOUT_MS = 1_000;
const RECONNECT_DELAY_MS = 1_000;
const KEEP_ALIVE_MS = 5_000;
const RETELL_DELAY_MS = 1_000;

export interface DueChannel {
	/** To the engine of this process, and to the others what it cannot take care of. */
	announce(owed: Owed): void;
	announceChange(programmeId: number): void;
	announceRecheck(isOurs: boolean): void;
	startListening(): void;
	close(): Promise<void>;
}

export function createDueChannel(
	url: string,
	listeners: DueListeners,
	{ clock, log, name }: { clock: Clock; log: Log; name: string },
	notify: (channel: string, payloads: readonly string[]) => Promise<unknown>,
): DueChannel {
	let client: pg.Client | undefined;
	let isClosed = false;
	let isListening = false;
	/** What is yet to be told: programmes with something due, and the earliest of it; and other payloads. */
	let due = new Set<number>();
	let dueAtMs = Number.POSITIVE_INFINITY;
	let others = new Set<string>();
	let isNotifying = false;
	let notifying = Promise.resolve();
	let cancelReconnect = (): void => undefined;
	let cancelRetelling = (): void => undefined;

	async function connect(): Promise<void> {
		const fresh = new pg.Client({
			connectionString: url,
			keepAlive: true,
			// A connection that a firewall has forgotten is noticed within seconds, not after the kernel's two hours.
			keepAliveInitialDelayMillis: KEEP_ALIVE_MS,
			application_name: `${name}-listen`,
			connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
		});
		fresh.on("notification", ({ payload }) => hear(payload ?? ""));
		fresh.on("error", () => reconnectLater(fresh));
		fresh.on("end", () => reconnectLater(fresh));
		client = fresh;
		try {
			await fresh.connect();
			await fresh.query(`listen ${CHANNEL}`);
			// What was announced while nobody listened is found by looking.
			listeners.onRecheck();
		} catch {
			reconnectLater(fresh);
		}
	}

	function reconnectLater(broken: pg.Client): void {
		if (isClosed || client !== broken) return;
		client = undefined;
		log.warn({}, "the wake-up connection broke; polling until it is back");
		broken.end().catch(() => undefined); // It is broken already: there is nothing to learn from its end.
		cancelReconnect = clock.after(RECONNECT_DELAY_MS, () => {
			listeners.onRecheck();
			void connect();
		});
	}

	function hear(payload: string): void {
		const [, word = "", ids = ""] = /^(change|\d+):(\d+(?:,\d+)*)$/.exec(payload) ?? [];
		const programmeIds = ids.split(",").map(Number);
		if (ids === "") listeners.onRecheck();
		else if (word === "change") for (const id of programmeIds) listeners.onChange(id);
		else listeners.onOwed({ programmeIds, dueAtMs: Number(word) });
	}

	/** One statement under way at a time; what comes meanwhile goes together in the next. */
	async function flush(): Promise<void> {
		isNotifying = true;
		while (due.size + others.size > 0) {
			const payloads = [...formatDue(dueAtMs, [...due]), ...others];
			due = new Set();
			dueAtMs = Number.POSITIVE_INFINITY;
			others = new Set();
			await notify(CHANNEL, payloads).catch(tellLater);
		}
		isNotifying = false;
	}

	/** Nobody may have heard it. What it was about others find by looking, when the database is back. */
	function tellLater(): void {
		cancelRetelling();
		if (!isClosed) cancelRetelling = clock.after(RETELL_DELAY_MS, () => tell(ANYWHERE));
	}

	function startFlush(): void {
		if (!isNotifying) notifying = flush();
	}

	function tell(payload: string): void {
		others.add(payload);
		startFlush();
	}

	return {
		announce(owed) {
			const elsewhere = listeners.onOwed(owed);
			if (elsewhere.length === 0) return;
			for (const id of elsewhere) due.add(id);
			dueAtMs = Math.min(dueAtMs, owed.dueAtMs);
			startFlush();
		},
		announceChange(programmeId) {
			listeners.onChange(programmeId);
			tell(`change:${programmeId}`);
		},
		announceRecheck(isOurs) {
			if (isOurs) listeners.onRecheck();
			tell(ANYWHERE);
		},
		startListening() {
			if (isListening) return;
			isListening = true;
			void connect();
		},
		async close() {
			isClosed = true;
			cancelReconnect();
			cancelRetelling();
			const present = client;
			const ended = Promise.allSettled([notifying, present?.end()]);
			// A server that is gone answers neither.
			await new Promise<void>((resolve) => {
				const cancel = clock.after(END_TIMEOUT_MS, resolve);
				void ended.then(() => {
					cancel();
					resolve();
				});
			});
		},
	};
}

function formatDue(dueAtMs: number, ids: readonly number[]): string[] {
	const payloads: string[] = [];
	for (let at = 0; at < ids.length; at += MAX_IDS_IN_PAYLOAD)
		payloads.push(`${dueAtMs}:${ids.slice(at, at + MAX_IDS_IN_PAYLOAD).join(",")}`);
	return payloads;
}
