// One signed call from its first byte to its answer:
//
//   bytes ─▶ authentic? ─▶ one transaction: nonce, endpoint, inbound log ─▶ engines told ─▶ answer
//
// A refusal after authentication commits the nonce and the log row and nothing else: endpoints return faults
// before they write. If our side fails, the nonce is not spent.

import { acceptNonce, type Caller, createIdentifyCaller } from "../accounts/identify-caller.ts";
import type { InTransaction } from "../conversions/deps.ts";
import { type Fault, fault, type Result } from "../domain/fault.ts";
import { headerNames } from "../domain/signature.ts";
import { readArrival } from "../domain/warning.ts";
import { noteFirstTime } from "../store/first-times.ts";
import { insertInboundCalls } from "../store/inbound.ts";
import type { Programme } from "../store/programmes.ts";
import type { Db } from "../store/store.ts";
import type { Answer } from "./answers.ts";
import { readBody } from "./body.ts";
import type { AppContext, AppDeps, AppEnv } from "./deps.ts";
import { type InboundCall, readInboundCall } from "./inbound-call.ts";
import { type InboundEnd, inboundRow, type RefusalLog } from "./inbound-log.ts";
import type { Metrics } from "./metrics.ts";
import { ourFault, problemAnswer } from "./problem.ts";
import { targetQuery } from "./request-target.ts";

export interface AuthenticCall {
	programme: Programme;
	/** The row of the key it was made with. */
	keyId: number;
	/** Closes the caller's connection; does nothing for a request made in process. */
	hangUp(): void;
	contentType: string | undefined;
	contentEncoding: string | undefined;
	body: Uint8Array;
	query: URLSearchParams;
	/** The `:id` of the path; empty where the path has none. */
	id: string;
}

export interface Handled {
	result: Result<Answer>;
	/** For the inbound log, also of a refused call: people search it by order. */
	orderId: string | null;
}

/** Parses, calls one use case, and says what to answer; all of it inside the caller's transaction. */
export type Endpoint = (trx: Db, deps: EndpointDeps, call: AuthenticCall) => Promise<Handled>;

type EndpointDeps = InTransaction & Pick<AppDeps, "sealingKey">;

export interface SignedCalls {
	serve(c: AppContext, endpoint: Endpoint): Promise<Response>;
	/** For what no endpoint takes: a wrong method, a wrong path. */
	refuse(call: InboundCall, found: Fault, headers?: Readonly<Record<string, string>>): Promise<Response>;
}

export function createSignedCalls(deps: AppDeps, refusals: RefusalLog, metrics: Metrics): SignedCalls {
	const { store, clock, log } = deps;
	const names = headerNames(deps.brand);
	const identifyCaller = createIdentifyCaller(deps, names);

	async function refuseUnheard(
		call: InboundCall,
		found: Fault,
		programme?: Programme,
		headers?: Readonly<Record<string, string>>,
	): Promise<Response> {
		metrics.countInbound(call.kind, found.code);
		await refusals.write(call, refusedEnd(found, programme?.id ?? null), clock.nowMs());
		return problemAnswer(deps, found, headers);
	}

	async function hear(c: AppContext, call: InboundCall, endpoint: Endpoint): Promise<Response> {
		const body = await readBody(c.req.raw);
		if (!body.ok) return refuseUnheard(call, body.fault);
		const { result: identified, programme } = await identifyCaller({
			method: call.method,
			target: call.target,
			authorization: c.req.header("authorization"),
			timestamp: c.req.header(names.timestamp),
			nonce: c.req.header(names.nonce),
			signature: c.req.header(names.signature),
			rawBody: body.value,
		});
		if (!identified.ok) return refuseUnheard(call, identified.fault, programme);
		const caller = identified.value;
		deps.installation.note(
			readArrival((name) => c.req.header(name), c.env?.incoming?.socket?.remoteAddress),
			{ isStaff: false, name: `programme ${caller.programme.id}` },
		);
		const { result } = await store.transact((trx) =>
			handle(trx, call, caller, endpoint, {
				programme: caller.programme,
				keyId: caller.keyId,
				hangUp: () => hangUp(c),
				contentType: c.req.header("content-type"),
				contentEncoding: c.req.header("content-encoding"),
				body: body.value,
				query: targetQuery(call.target),
				id: c.req.param("id") ?? "",
			}),
		);
		if (!result.ok) {
			metrics.countInbound(call.kind, result.fault.code);
			return problemAnswer(deps, result.fault);
		}
		const { outcome, httpStatus, body: json, owedProgrammeIds, openStream } = result.value;
		store.announceDue(owedProgrammeIds);
		metrics.countInbound(call.kind, outcome);
		if (openStream !== undefined) return openStream() ?? problemAnswer(deps, tooManyStreams());
		const headers = { "content-type": "application/json", "cache-control": "no-store" };
		return new Response(JSON.stringify(json), { status: httpStatus, headers });
	}

	async function handle(
		trx: Db,
		call: InboundCall,
		caller: Caller,
		endpoint: Endpoint,
		authenticCall: AuthenticCall,
	): Promise<Handled> {
		const accepted = await acceptNonce(trx, caller);
		const handled = accepted.ok
			? await endpoint(trx, deps, authenticCall)
			: { result: accepted, orderId: null };
		const end = endOf(handled, caller.programme.id);
		const nowMs = clock.nowMs();
		await insertInboundCalls(trx, [inboundRow(call, end, nowMs)]);
		if (handled.result.ok) await noteFirstTime(trx, caller.programme, "first_signed_at_ms", nowMs);
		return handled;
	}

	return {
		async serve(c, endpoint) {
			const call = readInboundCall(c, deps, "api");
			try {
				return await hear(c, call, endpoint);
			} catch (error) {
				log.error({ err: error, method: call.method, target: call.target }, "a signed call failed");
				return refuseUnheard(call, ourFault(error));
			}
		},
		refuse: (call, found, headers) => refuseUnheard(call, found, undefined, headers),
	};
}

export function tooManyStreams(): Fault {
	return fault(
		"too_many_streams",
		"As many streams are open as there may be, for this programme or in all. End another one, or come back in a minute.",
	);
}

function hangUp(c: AppContext): void {
	const bindings: AppEnv["Bindings"] | undefined = c.env;
	bindings?.outgoing?.destroy();
}

function endOf({ result, orderId }: Handled, programmeId: number): InboundEnd {
	if (!result.ok) return { ...refusedEnd(result.fault, programmeId), orderId };
	const { outcome, httpStatus, conversionId } = result.value;
	return { programmeId, outcome, httpStatus, detail: null, orderId, conversionId };
}

function refusedEnd({ code, httpStatus, detail }: Fault, programmeId: number | null): InboundEnd {
	return { programmeId, outcome: code, httpStatus, detail, orderId: null, conversionId: null };
}
