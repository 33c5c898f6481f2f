// The inbound log. Every API and pixel call gets a row, so that people can find out why an order is missing.
// The row of a stored call is written in the call's own transaction. A refused call may have no transaction. Such rows
// are inserted in batches.

import { createBatcher } from "../../concurrency/batching.ts";
import { createRateLimiter, type Rate } from "../../concurrency/rate-limit.ts";
import { blockOf, findClientAddress } from "../domain/client-address.ts";
import type { Fault } from "../domain/fault.ts";
import { MINUTE_MS } from "../domain/time.ts";
import { recordOf } from "../request-notes.ts";
import type { NewInboundCall } from "../store/batch.ts";
import type { InboundKind } from "../store/tables/inbound.ts";
import type { AppContext, AppDeps, AppEnv } from "./deps.ts";

/**
 * Maximum length of a stored request target. A pixel call with all fields has 150 characters, and rarely more
 * than 300 with parameters that the shop adds.
 */
export const MAX_TARGET_LENGTH = 512;
/** Maximum length of a stored detail. Sentences that Ringback writes have at most half of this length. */
const MAX_DETAIL_LENGTH = 600;
const MAX_METHOD_LENGTH = 20;
/**
 * Maximum number of refused calls that wait to be inserted. Further refusals are counted but not stored, to
 * limit memory.
 */
export const MAX_REFUSALS_WAITING = 500;

/**
 * Rate at which refused calls of one address block are stored. A row takes about half a kilobyte, so the
 * limit keeps a stranger from filling the disk. This rate is checked before the shared ones, so that a single
 * client that sends garbage does not use them up. People who look for a mistake in a shop's integration need
 * only a few rows.
 */
export const BLOCK_REFUSALS: Rate = { burst: 120, perSecond: 1 };
export const PROGRAMME_REFUSALS: Rate = { burst: 600, perSecond: 5 };
/**
 * Rate at which refused calls are stored that name no programme or an unknown one. All callers of such calls share
 * this rate.
 */
export const STRANGERS_REFUSALS: Rate = { burst: 1_000, perSecond: 5 };

const DROPPED_LOGGED_EVERY_MS = MINUTE_MS;

export interface InboundCall {
	kind: InboundKind;
	method: string;
	target: string;
	/** The X-Request-Id of the answer, or null for a request that was made in process. */
	requestId: string | null;
	/**
	 * Returns the caller's address block for rate limits, or null for a private address. The block is computed on
	 * demand, because most calls do not need it.
	 */
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
		requestId: recordOf(c)?.id ?? null,
		findBlock: () => callerBlock(c, deps),
	};
}

/**
 * Returns the caller's address block. It reads the headers that Node parsed, because creating a Headers
 * object would cost more than refusing the call.
 */
export function callerBlock(c: AppContext, deps: Pick<AppDeps, "trustedProxies">): string | null {
	return blockOfIncoming(incomingOf(c) ?? {}, deps);
}

/** Returns the caller's address block for a request that has no Hono context. */
export function blockOfIncoming(
	{ socket, headers }: NonNullable<AppEnv["Bindings"]["incoming"]>,
	{ trustedProxies }: Pick<AppDeps, "trustedProxies">,
): string | null {
	const forwardedFor = headers?.["x-forwarded-for"];
	// Node joins repeated headers of this name into one text, but its type also allows a list.
	const forwarded = Array.isArray(forwardedFor) ? forwardedFor.join(",") : forwardedFor;
	return blockOf(findClientAddress(socket?.remoteAddress, forwarded, trustedProxies));
}

export function targetQuery(target: string): URLSearchParams {
	const start = target.indexOf("?");
	return new URLSearchParams(start === -1 ? "" : target.slice(start + 1));
}

/**
 * Returns the target as the caller wrote and signed it. The URL of the Request object cannot be used, because that
 * class resolves dots and encodes characters again, so the signature would not match.
 */
export function requestTarget(c: AppContext): string {
	const received = incomingOf(c)?.url;
	// A proxy may send the target in absolute form (RFC 9112, section 3.2.2), but the signature covers only
	// path and query.
	if (received !== undefined) return received.replace(/^https?:\/\/[^/?]*/i, "");
	const { pathname, search } = new URL(c.req.url);
	return pathname + search;
}

function incomingOf(c: AppContext): AppEnv["Bindings"]["incoming"] {
	const bindings: AppEnv["Bindings"] | undefined = c.env;
	return bindings?.incoming;
}

/**
 * Columns of the inbound log that describe the result of a call. The outcome is a word such as RECORDED, or a
 * fault code.
 */
type InboundEnd = Omit<NewInboundCall, "id" | "kind" | "method" | "target" | "at_ms" | "request_id">;

export function inboundRow(call: InboundCall, atMs: number, end: InboundEnd): NewInboundCall {
	return {
		...end,
		kind: call.kind,
		method: storable(call.method, MAX_METHOD_LENGTH),
		target: cut(call.target),
		detail: end.detail == null ? null : storable(end.detail, MAX_DETAIL_LENGTH),
		at_ms: atMs,
		request_id: call.requestId,
	};
}

export interface RefusedAbout {
	programmeId?: number | null;
	orderId?: string | null;
	/** Status of the answer, if it differs from the status of the fault. */
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

/** Shortens a long target and marks the cut, so that nobody takes the text for complete. */
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
	/** Number of refusals that were not stored and that no line of the service log has reported yet. */
	let dropped = 0;
	let droppedLoggedAtMs = Number.NEGATIVE_INFINITY;

	/** Logs how many refusals were not stored. A flood drops some in every batch, so there is one line a minute. */
	function logDropped(): void {
		const nowMs = clock.monotonicMs();
		if (nowMs - droppedLoggedAtMs < DROPPED_LOGGED_EVERY_MS) return;
		log.warn({ dropped }, "some refused calls are not in the inbound log, because there were too many");
		dropped = 0;
		droppedLoggedAtMs = nowMs;
	}

	/** Stores the row of a refused call. Resolves to false if the row was dropped because too many refusals wait. */
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

	/** Inserts rows. Never rejects, because a failure is only logged. */
	async function writeRows(rows: readonly NewInboundCall[]): Promise<void> {
		try {
			await store.batch.write(store.db, { inboundCalls: rows });
		} catch (error) {
			log.error({ err: error, rows: rows.length }, "refused calls could not be logged");
		}
	}

	return { write };
}
