// The inbound log. Every call gets a row, so that people can find out why an order is missing. Calls that are stored write
// their rows in their own transaction. Refused calls without a transaction share an insert with others.

import { createBatcher } from "../concurrency/batching.ts";
import { createRateLimiter, type Rate } from "../concurrency/rate-limit.ts";
import { blockOf, findClientAddress } from "../domain/client-address.ts";
import type { Fault } from "../domain/fault.ts";
import { MINUTE_MS } from "../domain/time.ts";
import type { NewInboundCall } from "../store/hot-writes.ts";
import type { InboundKind } from "../store/tables/inbound.ts";
import type { AppContext, AppDeps, AppEnv } from "./deps.ts";

/** Maximum length of a stored target. A pixel call with all fields has 150 characters, and seldom 300 with the shop's own. */
export const MAX_TARGET_LENGTH = 512;
/** Our own sentences have at most half of this length. */
const MAX_DETAIL_LENGTH = 600;
const MAX_METHOD_LENGTH = 20;
/** Maximum number of refusals that wait for an insert. Further ones are counted and not stored, to bound memory. */
export const MAX_REFUSALS_WAITING = 500;

/**
 * Rate at which refusals are stored, about half a kilobyte each, so that a stranger cannot fill the disk. The address
 * block's rate is checked first, so that one client who sends garbage leaves room for the refusals of others. People who
 * look for a mistake in a shop's integration need only a few.
 */
export const BLOCK_REFUSALS: Rate = { burst: 120, perSecond: 1 };
export const PROGRAMME_REFUSALS: Rate = { burst: 600, perSecond: 5 };
/** Shared rate of all calls that name no programme or an unknown one. */
export const STRANGERS_REFUSALS: Rate = { burst: 1_000, perSecond: 5 };

const DROPPED_LOGGED_EVERY_MS = MINUTE_MS;

export interface InboundCall {
	kind: InboundKind;
	method: string;
	target: string;
	/** Returns the caller's address block for rate limits, or null for a private address. Computed only when it is needed. */
	findBlock(): string | null;
}

export function readInboundCall(
	c: AppContext,
	deps: Pick<AppDeps, "trustedProxies">,
	kind: InboundKind,
): InboundCall {
	return {
		kind,
		method: c.req.method,
		target: requestTarget(c),
		findBlock: () => callerBlock(c, deps),
	};
}

/** Reads the headers that Node parsed, because a Headers object costs more than all the rest of a call that is refused. */
export function callerBlock(c: AppContext, deps: Pick<AppDeps, "trustedProxies">): string | null {
	return blockOfIncoming(incomingOf(c) ?? {}, deps);
}

/** The same for a request that has no context. */
export function blockOfIncoming(
	{ socket, headers }: NonNullable<AppEnv["Bindings"]["incoming"]>,
	{ trustedProxies }: Pick<AppDeps, "trustedProxies">,
): string | null {
	const forwardedFor = headers?.["x-forwarded-for"];
	// Node joins a repeated header, but its type also allows a list.
	const forwarded = Array.isArray(forwardedFor) ? forwardedFor.join(",") : forwardedFor;
	return blockOf(findClientAddress(socket?.remoteAddress, forwarded, trustedProxies));
}

export function targetQuery(target: string): URLSearchParams {
	const start = target.indexOf("?");
	return new URLSearchParams(start === -1 ? "" : target.slice(start + 1));
}

/**
 * Returns the target as the caller wrote and signed it. The URL of the Request object is not usable, because it resolves
 * dots and encodes characters again, so the signature would not match.
 */
export function requestTarget(c: AppContext): string {
	const received = incomingOf(c)?.url;
	// A proxy may send the absolute form (RFC 9112, section 3.2.2). The signature covers only path and query.
	if (received !== undefined) return received.replace(/^https?:\/\/[^/?]*/i, "");
	const { pathname, search } = new URL(c.req.url);
	return pathname + search;
}

function incomingOf(c: AppContext): AppEnv["Bindings"]["incoming"] {
	const bindings: AppEnv["Bindings"] | undefined = c.env;
	return bindings?.incoming;
}

/** Columns about the result of a call. The outcome is a name such as RECORDED, or a fault code. */
type InboundEnd = Omit<NewInboundCall, "id" | "kind" | "method" | "target" | "at_ms">;

export function inboundRow(call: InboundCall, atMs: number, end: InboundEnd): NewInboundCall {
	return {
		...end,
		kind: call.kind,
		method: storable(call.method, MAX_METHOD_LENGTH),
		target: cut(call.target),
		detail: end.detail == null ? null : storable(end.detail, MAX_DETAIL_LENGTH),
		at_ms: atMs,
	};
}

export interface RefusedAbout {
	programmeId?: number | null;
	orderId?: string | null;
	/** Status that the caller got, if it is not the fault's own. */
	httpStatus?: number | undefined;
}

export function refusedRow(
	call: InboundCall,
	{ code, detail, httpStatus }: Fault,
	atMs: number,
	about: RefusedAbout,
): NewInboundCall {
	return inboundRow(call, atMs, {
		programme_id: about.programmeId ?? null,
		outcome: code,
		http_status: about.httpStatus ?? httpStatus,
		detail,
		order_id: about.orderId ?? null,
	});
}

/** Cuts a long target and says so, so that nobody takes it for complete. */
function cut(target: string): string {
	if (target.length <= MAX_TARGET_LENGTH) return storable(target, MAX_TARGET_LENGTH);
	const mark = `… (cut: ${target.length} characters)`;
	return `${storable(target, MAX_TARGET_LENGTH - mark.length)}${mark}`;
}

/** Replaces characters that a database refuses: NUL characters, and halves of surrogate pairs. A stranger may send both. */
function storable(text: string, maxLength: number): string {
	return text
		.slice(0, maxLength)
		.toWellFormed()
		.replace(/\p{Cc}/gu, "\u{FFFD}");
}

export type RefusalLog = ReturnType<typeof createRefusalLog>;

export function createRefusalLog({ store, log, clock }: Pick<AppDeps, "store" | "log" | "clock">) {
	const rates = createRateLimiter([
		{ per: "addressBlock", ...BLOCK_REFUSALS },
		{ per: "programme", ...PROGRAMME_REFUSALS },
		{ per: "unknownProgramme", ...STRANGERS_REFUSALS },
	]);
	const batcher = createBatcher<NewInboundCall, void>(clock, writeRows, { maxSize: MAX_REFUSALS_WAITING });
	/** Number of refusals that were not stored since the last line about them in the service log. */
	let dropped = 0;
	let droppedLoggedAtMs = Number.NEGATIVE_INFINITY;

	/** Logs how many refusals were not stored. A flood drops some in every batch, so it is logged once a minute. */
	function logDropped(): void {
		const nowMs = clock.monotonicMs();
		if (nowMs - droppedLoggedAtMs < DROPPED_LOGGED_EVERY_MS) return;
		log.warn({ dropped }, "some refused calls are not in the inbound log, because there were too many");
		dropped = 0;
		droppedLoggedAtMs = nowMs;
	}

	/** Resolves to whether the row was stored. False means that there are too many refusals. */
	async function write(call: InboundCall, found: Fault, about: RefusedAbout = {}): Promise<boolean> {
		const isFull = batcher.waitingSize >= MAX_REFUSALS_WAITING;
		const atMs = clock.nowMs();
		const origin = { addressBlock: call.findBlock(), programme: about.programmeId ?? null };
		if (isFull || !rates.take(origin, atMs)) {
			dropped++;
			logDropped();
			return false;
		}
		await batcher.add(refusedRow(call, found, atMs, about));
		return true;
	}

	/** Stores rows. Never rejects. */
	async function writeRows(rows: readonly NewInboundCall[]): Promise<void> {
		try {
			await store.writes.insertInboundCalls(store.db, rows);
		} catch (error) {
			log.error({ err: error, rows: rows.length }, "refused calls could not be logged");
		}
	}

	return { write };
}
