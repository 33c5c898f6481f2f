// A call as it came in, and the inbound log: a row for every call, so that "why is order 1234 not here?" has an answer.
// Accepted calls write theirs in their own transaction; refusals that have none share an insert with those beside them.

import { createBatcher } from "../concurrency/batching.ts";
import { createRateLimiter, type Rate } from "../concurrency/rate-limit.ts";
import { blockOf, findClientAddress } from "../domain/client-address.ts";
import type { Fault } from "../domain/fault.ts";
import type { NewInboundCall } from "../store/hot-writes.ts";
import type { InboundKind } from "../store/tables/inbound.ts";
import type { AppContext, AppDeps, AppEnv } from "./deps.ts";

/** A pixel call with every field of ours has 150 characters, with a shop's own beside them seldom 300; the rest is cut. */
export const MAX_TARGET_LENGTH = 512;
/** Our own sentences have at most half of it. */
const MAX_DETAIL_LENGTH = 600;
const MAX_METHOD_LENGTH = 20;
/** A flood beyond this, while one insert runs, is counted and not kept: memory and the disk stay ours. */
export const MAX_REFUSALS_WAITING = 500;

/**
 * How many refusals are kept, each about half a kilobyte: a stranger must not be able to fill the disk. First by the
 * caller's block of addresses, so that one who sends garbage leaves room for the refusals of others; then by the
 * programme they name. Somebody who looks for a mistake in a shop's integration needs a few.
 */
export const BLOCK_REFUSALS: Rate = { burst: 120, perSecond: 1 };
export const PROGRAMME_REFUSALS: Rate = { burst: 600, perSecond: 5 };
/** Of calls that name no programme, or none that there is. */
export const STRANGERS_REFUSALS: Rate = { burst: 1_000, perSecond: 5 };

export interface InboundCall {
	kind: InboundKind;
	method: string;
	target: string;
	/** The addresses it comes from, for budgets; null where all callers look the same. Found only when it is asked for. */
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

/** Reads what Node parsed: making the web's headers of it costs more than all the rest of a call that is not taken. */
export function callerBlock(
	c: AppContext,
	{ trustedProxies }: Pick<AppDeps, "trustedProxies">,
): string | null {
	const { socket, headers } = incomingOf(c) ?? {};
	const forwardedFor = headers?.["x-forwarded-for"];
	// Node joins a header that is there twice, but its type allows for a list.
	const forwarded = Array.isArray(forwardedFor) ? forwardedFor.join(",") : forwardedFor;
	return blockOf(findClientAddress(socket?.remoteAddress, forwarded, trustedProxies));
}

export function targetQuery(target: string): URLSearchParams {
	const start = target.indexOf("?");
	return new URLSearchParams(start === -1 ? "" : target.slice(start + 1));
}

/**
 * As the caller wrote and signed it. The URL of the Request object will not do: building it resolves dots and
 * re-encodes characters, and a signature over the other spelling would not match.
 */
export function requestTarget(c: AppContext): string {
	const onTheWire = incomingOf(c)?.url;
	// A proxy may send the absolute form (RFC 9112, section 3.2.2); what is signed is path and query alone.
	if (onTheWire !== undefined) return onTheWire.replace(/^https?:\/\/[^/?]*/i, "");
	const { pathname, search } = new URL(c.req.url);
	return pathname + search;
}

function incomingOf(c: AppContext): AppEnv["Bindings"]["incoming"] {
	const bindings: AppEnv["Bindings"] | undefined = c.env;
	return bindings?.incoming;
}

/** What a row tells besides the call itself. The outcome is an outcome word, or the code of a fault. */
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
	/** What the caller was told, where that is not the fault's own. */
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

/** What is left out is said, so that nobody takes the rest for the whole. */
function cut(target: string): string {
	if (target.length <= MAX_TARGET_LENGTH) return storable(target, MAX_TARGET_LENGTH);
	const mark = `… (cut: ${target.length} characters)`;
	return `${storable(target, MAX_TARGET_LENGTH - mark.length)}${mark}`;
}

/** PostgreSQL takes no NUL in text, neither database half a surrogate pair; a stranger may send both. */
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
	let dropped = 0;

	/** Resolves once the row is stored, or once it is sure that it cannot be: the caller is answered either way. */
	async function write(call: InboundCall, found: Fault, about: RefusedAbout = {}): Promise<void> {
		const isFull = batcher.waitingSize >= MAX_REFUSALS_WAITING;
		const atMs = clock.nowMs();
		const origin = { addressBlock: call.findBlock(), programme: about.programmeId ?? null };
		if (isFull || !rates.take(origin, atMs)) dropped++;
		else await batcher.add(refusedRow(call, found, atMs, about));
	}

	/** Never rejects. */
	async function writeRows(rows: readonly NewInboundCall[]): Promise<void> {
		if (dropped > 0) {
			log.warn({ dropped }, "too many refused calls at once: some are not in the log");
			dropped = 0;
		}
		try {
			await store.writes.insertInboundCalls(store.db, rows);
		} catch (error) {
			log.error({ err: error, rows: rows.length }, "refused calls could not be logged");
		}
	}

	return { write };
}
