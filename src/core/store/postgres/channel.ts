// Notifies the engines of other processes, by NOTIFY after the commit and LISTEN on a separate connection. If a
// notification may have been lost, the engines check the database themselves.
//
//   payload "<due>:<id>,<id>,…"   deliveries of these receivers are due from this time on
//   payload "change:<id>"         the receiver's URL or secret has changed
//   payload "anywhere"            check the database

import pg from "pg";
import { createSingleFlight } from "../../../concurrency/single-flight.ts";
import type { ReceiverId } from "../../domain/receiver.ts";
import type { Clock, Log } from "../../ports.ts";
import type { Owed } from "../queries/queue.ts";
import type { DueListeners } from "../store.ts";
import type { Servers } from "./servers.ts";

const CHANNEL = "ringback_due";
/** Maximum number of ids in a payload. PostgreSQL refuses payloads of 8,000 bytes. */
const MAX_IDS_IN_PAYLOAD = 400;
const ANYWHERE = "anywhere";
const CONNECT_TIMEOUT_MS = 5_000;
/** Time to wait for the server when the channel closes. A server that is gone does not answer. */
const END_TIMEOUT_MS = 1_000;
const RECONNECT_DELAY_MS = 1_000;
const KEEP_ALIVE_MS = 5_000;
const NOTIFY_RETRY_DELAY_MS = 1_000;

export interface DueChannel {
	/**
	 * Notifies the engine of this process. Also notifies other processes of the receivers that this engine does not own.
	 */
	announce(owed: Owed): void;
	announceTargetChange(receiverId: ReceiverId): void;
	/** Makes the engines of other processes check the database, and also the engine of this process if `isOurs`. */
	announceRecheck(isOurs: boolean): void;
	startListening(): void;
	close(): Promise<void>;
}

export function createDueChannel(
	servers: Servers,
	listeners: DueListeners,
	{ clock, log, name }: { clock: Clock; log: Log; name: string },
	notify: (channel: string, payloads: readonly string[]) => Promise<unknown>,
): DueChannel {
	let client: pg.Client | undefined;
	let isClosed = false;
	let isListening = false;
	/** Receivers with due deliveries that are not announced yet, and the earliest due time among them. */
	let due = new Set<ReceiverId>();
	let dueAtMs = Number.POSITIVE_INFINITY;
	/** Payloads of other kinds that are not sent yet. */
	let otherPayloads = new Set<string>();
	let cancelReconnect = (): void => undefined;
	let cancelRetry = (): void => undefined;

	/**
	 * Sends all waiting payloads in one statement. Payloads that arrive while it runs are sent together by the next one.
	 */
	const sending = createSingleFlight({
		run: async () => {
			const payloads = [...formatDue(dueAtMs, [...due]), ...otherPayloads];
			due = new Set();
			dueAtMs = Number.POSITIVE_INFINITY;
			otherPayloads = new Set();
			if (payloads.length > 0) await notify(CHANNEL, payloads);
		},
		onError: recheckLater,
	});

	async function connect(): Promise<void> {
		await servers.ready();
		if (isClosed) return;
		const fresh = new pg.Client({
			connectionString: servers.url(),
			keepAlive: true,
			// Keep-alives detect within seconds that a firewall has dropped the connection. With the kernel's defaults this
			// takes two hours.
			keepAliveInitialDelayMillis: KEEP_ALIVE_MS,
			application_name: `${name}-listen`,
			connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
		});
		fresh.on("notification", ({ payload }) => receive(payload ?? ""));
		fresh.on("error", () => reconnectLater(fresh));
		fresh.on("end", () => reconnectLater(fresh));
		client = fresh;
		try {
			await fresh.connect();
			await fresh.query(`listen ${CHANNEL}`);
			// Notifications that were sent before this connection listened are lost, so the engine must check the database.
			listeners.onRecheck();
		} catch {
			// The address may lead to a standby, which refuses LISTEN.
			await servers.lookAgain();
			reconnectLater(fresh);
		}
	}

	// Only the server that accepts writes sends notifications, so this connection follows when another server is chosen.
	servers.onChange(() => {
		if (client !== undefined) reconnectLater(client);
	});

	function reconnectLater(broken: pg.Client): void {
		if (isClosed || client !== broken) return;
		client = undefined;
		log.warn({}, "the wake-up connection broke; polling until it is back");
		// The connection is already broken, so an error while closing it is ignored.
		broken.end().catch(() => undefined);
		cancelReconnect = clock.after(RECONNECT_DELAY_MS, () => {
			listeners.onRecheck();
			void connect();
		});
	}

	function receive(payload: string): void {
		const [, kind = "", ids = ""] = /^(change|\d+):(\d+(?:,\d+)*)$/.exec(payload) ?? [];
		const receiverIds = ids.split(",").map(Number) as ReceiverId[];
		if (ids === "") listeners.onRecheck();
		else if (kind === "change") for (const id of receiverIds) listeners.onTargetChange(id);
		else listeners.onOwed({ receiverIds, dueAtMs: Number(kind) });
	}

	/** Makes other engines check the database later, because the payloads may have reached nobody. */
	function recheckLater(): void {
		cancelRetry();
		if (!isClosed) cancelRetry = clock.after(NOTIFY_RETRY_DELAY_MS, () => send(ANYWHERE));
	}

	function send(payload: string): void {
		otherPayloads.add(payload);
		sending.request();
	}

	return {
		announce(owed) {
			const elsewhere = listeners.onOwed(owed);
			if (elsewhere.length === 0) return;
			for (const id of elsewhere) due.add(id);
			dueAtMs = Math.min(dueAtMs, owed.dueAtMs);
			sending.request();
		},
		announceTargetChange(receiverId) {
			listeners.onTargetChange(receiverId);
			send(`change:${receiverId}`);
		},
		announceRecheck(isOurs) {
			if (isOurs) listeners.onRecheck();
			send(ANYWHERE);
		},
		startListening() {
			if (isListening) return;
			isListening = true;
			void connect();
		},
		async close() {
			isClosed = true;
			cancelReconnect();
			cancelRetry();
			const ended = Promise.allSettled([sending.whenIdle(), client?.end()]);
			// Neither promise settles if the server is gone, so the wait is limited.
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

function formatDue(dueAtMs: number, ids: readonly ReceiverId[]): string[] {
	const payloads: string[] = [];
	for (let at = 0; at < ids.length; at += MAX_IDS_IN_PAYLOAD)
		payloads.push(`${dueAtMs}:${ids.slice(at, at + MAX_IDS_IN_PAYLOAD).join(",")}`);
	return payloads;
}
