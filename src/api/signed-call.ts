// One signed call from its first byte to its answer:
//
//   bytes ─▶ caller identified ─▶ call understood ─┬─▶ a report or decision: with those that wait, see intake.ts ──┬─▶ answer
//                                                  └─▶ others: one transaction with its nonce and inbound log ────┘
//
// A refusal after the caller is known commits the nonce and the log row and nothing else. If our side fails, the
// nonce is not spent.

import { type Fault, faultOf, type Result } from "../domain/fault.ts";
import {
	acceptNonces,
	type Caller,
	createIdentifyCaller,
	findKey,
	noteCallers,
} from "../programmes/identify-caller.ts";
import type { KnownCallers } from "../programmes/known-callers.ts";
import { idsOf, recordOf } from "../request-notes.ts";
import { noteFirstTime } from "../store/queries/first-times.ts";
import type { Db } from "../store/store.ts";
import type { Answer } from "./answers.ts";
import type { AppContext, AppDeps, AppEnv } from "./deps.ts";
import type { Endpoint, Look, SignedCall, Understood } from "./endpoint.ts";
import { arrivalOf, type InboundCall, readInboundCall, targetQuery } from "./inbound-call.ts";
import { acceptedEnd, inboundRow, type RefusalLog, refusedEnd } from "./inbound-log.ts";
import { type Intake, tooManyWaiting } from "./intake.ts";
import { createLateAnswer } from "./pixel-limits.ts";
import { ourFault, problemAnswer } from "./problem.ts";
import { MAX_BODY_BYTES, readBody } from "./read-request.ts";
import { addSafeHeaders, SAFE_HEADERS } from "./safe-headers.ts";

export interface SignedCalls {
	serve(c: AppContext, endpoint: Endpoint): Promise<Response>;
	/** For what no endpoint takes: a wrong method, a wrong path. */
	refuse(call: InboundCall, found: Fault, headers?: Readonly<Record<string, string>>): Promise<Response>;
}

const JSON_HEADERS = { "content-type": "application/json", "cache-control": "no-store", ...SAFE_HEADERS };

/** A call whose caller is known, or why not; with a refusal the programme that its key named, for the inbound log. */
type ReadCall =
	| { ok: true; caller: Caller; call: SignedCall }
	| { ok: false; fault: Fault; programmeId: number | null };

export function createSignedCalls(
	deps: AppDeps,
	{ callers, intake, refusals }: { callers: KnownCallers; intake: Intake; refusals: RefusalLog },
): SignedCalls {
	const { store, clock, log, metrics } = deps;
	const identifyCaller = createIdentifyCaller(deps, callers, deps.network.wire);
	const answerLate = createLateAnswer(clock, deps.stopSignal);

	async function readCall(
		c: AppContext,
		{ method, target }: InboundCall,
		maxBodyBytes = MAX_BODY_BYTES,
	): Promise<ReadCall> {
		const header = (name: string) => c.req.header(name);
		if (maxBodyBytes > MAX_BODY_BYTES) {
			const key = await findKey(callers, header("authorization"));
			if (!key.ok) return { ...key, programmeId: null };
		}
		const body = await readBody(c.req.raw, maxBodyBytes);
		if (!body.ok) return { ...body, programmeId: null };
		const { result: identified, programme } = await identifyCaller({
			method,
			target,
			header,
			rawBody: body.value,
		});
		if (!identified.ok) return { ...identified, programmeId: programme?.id ?? null };
		const caller = identified.value;
		const record = recordOf(c);
		if (record !== undefined) record.programme = caller.programme.public_id;
		deps.installation.note(arrivalOf(c), { isStaff: false, name: `programme ${caller.programme.id}` });
		const call: SignedCall = {
			programme: caller.programme,
			keyId: caller.keyId,
			secretId: caller.secretId,
			nowMs: clock.nowMs(),
			contentType: header("content-type"),
			contentEncoding: header("content-encoding"),
			body: body.value,
			query: targetQuery(target),
			id: c.req.param("id") ?? "",
			hangUp: () => hangUp(c),
		};
		return { ok: true, caller, call };
	}

	/** Undefined when the call was not taken: nothing was done. */
	function workOn(
		inbound: InboundCall,
		caller: Caller,
		{ orderId, work }: Understood,
	): Promise<Result<Answer> | undefined> {
		const call = { inbound, programme: caller.programme, caller, orderId };
		if (!work.ok) return intake.take({ ...call, requests: [], answer: () => work });
		switch (work.value.kind) {
			case "ask":
				return intake.take({ ...call, ...work.value.ask(deps) });
			case "look": {
				const { look } = work.value;
				return store.transact((trx) => lookInTransaction(trx, inbound, caller, orderId, look));
			}
			default:
				return work.value satisfies never;
		}
	}

	async function lookInTransaction(
		trx: Db,
		call: InboundCall,
		caller: Caller,
		orderId: string | null,
		look: Look,
	): Promise<Result<Answer>> {
		const programmeId = caller.programme.id;
		const refusal = (await acceptNonces(trx, store.writes, [caller])).get(caller);
		const result = refusal ?? (await look(trx));
		const end = result.ok
			? acceptedEnd(result.value, programmeId, result.value.orderId ?? orderId)
			: refusedEnd(result.fault, programmeId, refusal === undefined ? orderId : null);
		const nowMs = clock.nowMs();
		await store.writes.insertInboundCalls(trx, [inboundRow(call, end, nowMs)]);
		if (result.ok && result.value.isOfListener !== true) {
			await noteFirstTime(trx, caller.programme, "first_signed_at_ms", nowMs);
		}
		if (refusal === undefined) await noteCallers(trx, [caller]);
		return result;
	}

	async function answer(c: AppContext, inbound: InboundCall, endpoint: Endpoint): Promise<Response> {
		const read = await readCall(c, inbound, endpoint.maxBodyBytes);
		if (!read.ok) return refuse(inbound, read.fault, {}, read.programmeId);
		const { call, caller } = read;
		const result = await workOn(inbound, caller, endpoint(call));
		if (result === undefined) {
			// Reading a bulk call takes time: whoever sends it again at once, whatever it is told, is slowed down.
			if (endpoint.maxBodyBytes !== undefined) await answerLate();
			return refuse(inbound, tooManyWaiting(), {}, caller.programme.id);
		}
		if (!result.ok) {
			metrics.countInbound(inbound.kind, result.fault.code);
			return problemAnswer(deps, result.fault);
		}
		const { outcome, httpStatus, body, openStream } = result.value;
		metrics.countInbound(inbound.kind, outcome);
		if (openStream === undefined) {
			return new Response(JSON.stringify(body), { status: httpStatus, headers: JSON_HEADERS });
		}
		const stream = openStream() ?? problemAnswer(deps, faultOf("too_many_streams", {}));
		addSafeHeaders(stream);
		return stream;
	}

	/** A call that comes to no transaction. */
	async function refuse(
		call: InboundCall,
		found: Fault,
		headers: Readonly<Record<string, string>> = {},
		programmeId: number | null = null,
	): Promise<Response> {
		metrics.countInbound(call.kind, found.code);
		await refusals.write(call, refusedEnd(found, programmeId, null), clock.nowMs());
		return problemAnswer(deps, found, headers);
	}

	return {
		async serve(c, endpoint) {
			const call = readInboundCall(c, deps, "api");
			try {
				return await answer(c, call, endpoint);
			} catch (error) {
				const about = { ...idsOf(recordOf(c)), method: call.method, target: call.target };
				log.error({ err: error, ...about }, "a signed call failed");
				return refuse(call, ourFault(error));
			}
		},
		refuse,
	};
}

function hangUp(c: AppContext): void {
	const bindings: AppEnv["Bindings"] | undefined = c.env;
	bindings?.outgoing?.destroy();
}
