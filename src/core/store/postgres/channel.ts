// Notifies the engines of other processes, by NOTIFY after the commit and LISTEN on a separate connection. If a
// notification may have been lost, the engines check the database themselves.
//
//   payload "<due>:<id>,<id>,…"   deliveries of these receivers are due from this time on
//   payload "change:<id>"         the receiver's URL or secret has changed
//   payload "anywhere"            check the database

import pg from "pg";
import { createSingleFlight, type SingleFlight } from "../../../concurrency/single-flight.ts";
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
	 * Notifies the engine of this process, and notifies other processes of the receivers that this engine does not own.
	 */
	announce(owed: Owed): void;
	announceTargetChange(receiverId: ReceiverId): void;
	/**
	 * Makes the engines of other processes check the database. If `isOurs` is true, the engine of this process checks
	 * it, too.
	 */
	announceRecheck(isOurs: boolean): void;
	startListening(): void;
	close(): Promise<void>;
}

type Notify = (channel: string, payloads: readonly string[]) => Promise<unknown>;

export function createDueChannel(
	servers: Servers,
	listeners: DueListeners,
	deps: ListeningDeps,
	notify: Notify,
): DueChannel {
	const { clock } = deps;
	const outbox = new Outbox(clock, notify);
	const listening = new Listening(servers, listeners, deps);
	return {
		announce(owed) {
			const elsewhere = listeners.onOwed(owed);
			if (elsewhere.length > 0) outbox.addDue(elsewhere, owed.dueAtMs);
		},
		announceTargetChange(receiverId) {
			listeners.onTargetChange(receiverId);
			outbox.add(`change:${receiverId}`);
		},
		announceRecheck(isOurs) {
			if (isOurs) listeners.onRecheck();
			outbox.add(ANYWHERE);
		},
		startListening: () => listening.start(),
		async close() {
			const ended = Promise.allSettled([outbox.close(), listening.close()]);
			// The wait has a time limit, because neither promise settles if the server is gone.
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

/** Queue of payloads. Payloads that arrive while a statement runs are sent together by the next statement. */
class Outbox {
	readonly #clock: Clock;
	readonly #sending: SingleFlight;
	/** Receivers with due deliveries, and the earliest due time among them. */
	#due = new Set<ReceiverId>();
	#dueAtMs = Number.POSITIVE_INFINITY;
	#others = new Set<string>();
	#isClosed = false;
	#cancelRetry = (): void => undefined;

	constructor(clock: Clock, notify: Notify) {
		this.#clock = clock;
		this.#sending = createSingleFlight({
			run: async () => {
				const payloads = [...formatDue(this.#dueAtMs, [...this.#due]), ...this.#others];
				this.#due = new Set();
				this.#dueAtMs = Number.POSITIVE_INFINITY;
				this.#others = new Set();
				if (payloads.length > 0) await notify(CHANNEL, payloads);
			},
			onError: () => this.#recheckLater(),
		});
	}

	addDue(ids: readonly ReceiverId[], dueAtMs: number): void {
		for (const id of ids) this.#due.add(id);
		this.#dueAtMs = Math.min(this.#dueAtMs, dueAtMs);
		this.#sending.request();
	}

	add(payload: string): void {
		this.#others.add(payload);
		this.#sending.request();
	}

	/** Makes other engines check the database later, because these payloads may have reached no process. */
	#recheckLater(): void {
		this.#cancelRetry();
		if (!this.#isClosed) {
			this.#cancelRetry = this.#clock.after(NOTIFY_RETRY_DELAY_MS, () => this.add(ANYWHERE));
		}
	}

	close(): Promise<void> {
		this.#isClosed = true;
		this.#cancelRetry();
		return this.#sending.whenIdle();
	}
}

interface ListeningDeps {
	clock: Clock;
	log: Log;
	/** Name under which the database server lists this process. */
	name: string;
}

type State =
	| { name: "off" }
	/** No server has been chosen yet. */
	| { name: "starting" }
	/** The connection listens, or is being opened. */
	| { name: "connected"; client: pg.Client }
	/** The connection broke, and is opened again after a pause. */
	| { name: "broken"; cancel(): void }
	| { name: "closed" };

/**
 * The connection that receives the notifications of other processes.
 *
 *   off ─▶ starting ─▶ connected ─▶ broken
 *             ▲                       │
 *             └───────────────────────┘     closed from every state
 */
class Listening {
	readonly #servers: Servers;
	readonly #listeners: DueListeners;
	readonly #deps: ListeningDeps;
	#state: State = { name: "off" };

	constructor(servers: Servers, listeners: DueListeners, deps: ListeningDeps) {
		this.#servers = servers;
		this.#listeners = listeners;
		this.#deps = deps;
		// Only the server that accepts writes sends notifications, so this connection follows when another server is chosen.
		servers.onChange(() => {
			if (this.#state.name === "connected") this.#reconnectLater(this.#state.client);
		});
	}

	start(): void {
		if (this.#state.name === "off") void this.#connect();
	}

	async #connect(): Promise<void> {
		this.#state = { name: "starting" };
		await this.#servers.ready();
		if (this.#state.name !== "starting") return;
		const client = new pg.Client({
			connectionString: this.#servers.url(),
			keepAlive: true,
			// Keep-alives detect within seconds that a firewall has dropped the connection. With the kernel's defaults this
			// takes two hours.
			keepAliveInitialDelayMillis: KEEP_ALIVE_MS,
			application_name: `${this.#deps.name}-listen`,
			connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
		});
		client.on("notification", ({ payload }) => this.#receive(payload ?? ""));
		client.on("error", () => this.#reconnectLater(client));
		client.on("end", () => this.#reconnectLater(client));
		this.#state = { name: "connected", client };
		try {
			await client.connect();
			await client.query(`listen ${CHANNEL}`);
			// Notifications that were sent before this connection listened are lost, so the engine must check the database.
			this.#listeners.onRecheck();
		} catch {
			// The address may lead to a standby, which refuses LISTEN.
			await this.#servers.lookAgain();
			this.#reconnectLater(client);
		}
	}

	#reconnectLater(broken: pg.Client): void {
		if (this.#state.name !== "connected" || this.#state.client !== broken) return;
		this.#deps.log.warn({}, "the wake-up connection broke; polling until it is back");
		// Errors while closing are ignored, because the connection is already broken.
		broken.end().catch(() => undefined);
		const cancel = this.#deps.clock.after(RECONNECT_DELAY_MS, () => {
			this.#listeners.onRecheck();
			void this.#connect();
		});
		this.#state = { name: "broken", cancel };
	}

	#receive(payload: string): void {
		const listeners = this.#listeners;
		const [, kind = "", ids = ""] = /^(change|\d+):(\d+(?:,\d+)*)$/.exec(payload) ?? [];
		const receiverIds = ids.split(",").map(Number) as ReceiverId[];
		if (ids === "") listeners.onRecheck();
		else if (kind === "change") for (const id of receiverIds) listeners.onTargetChange(id);
		else listeners.onOwed({ receiverIds, dueAtMs: Number(kind) });
	}

	async close(): Promise<void> {
		const state = this.#state;
		this.#state = { name: "closed" };
		if (state.name === "broken") state.cancel();
		if (state.name === "connected") await state.client.end();
	}
}

function formatDue(dueAtMs: number, ids: readonly ReceiverId[]): string[] {
	const payloads: string[] = [];
	for (let at = 0; at < ids.length; at += MAX_IDS_IN_PAYLOAD)
		payloads.push(`${dueAtMs}:${ids.slice(at, at + MAX_IDS_IN_PAYLOAD).join(",")}`);
	return payloads;
}
