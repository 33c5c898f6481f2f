// One signed call from its first byte to its answer:
//
//   key known ─▶ bytes ─▶ caller verified ─▶ call understood (the endpoint) ─▶ stored, see intake.ts ─▶ answer
//
// A refusal after the caller is verified commits the nonce and the log row and nothing else. If our side fails, the
// nonce is not spent.

import { type Fault, fault, faultOf, type Result } from "../domain/fault.ts";
import type { Caller, Callers } from "../programmes/callers.ts";
import { idsOf, recordOf } from "../request-notes.ts";
import { createLateAnswer, type Turns } from "../turns.ts";
import type { AppContext, AppDeps, AppEnv } from "./deps.ts";
import { type InboundCall, type RefusalLog, readInboundCall, targetQuery } from "./inbound-log.ts";
import { type Intake, tooManyWaiting, type Work } from "./intake.ts";
import { addSafeHeaders, ourFault, problemAnswer, SAFE_HEADERS } from "./problem.ts";
import { MAX_BODY_BYTES, type RawBody, readBody } from "./read-request.ts";

/** A call whose signature is good; its nonce is yet to be accepted, inside the transaction. */
export interface SignedCall extends RawBody, Pick<Caller, "programme" | "keyId" | "mayDecide" | "secretId"> {
	nowMs: number;
	query: URLSearchParams;
	/** The `:id` of the path; empty where the path has none. */
	id: string;
	/** Closes the caller's connection; does nothing for a request made in process. */
	hangUp(): void;
}

/** Reads a call without the database, and says what to do inside a transaction: so what several ask for shares one. */
export type Endpoint = ((call: SignedCall) => Work) & {
	/** MAX_BODY_BYTES unless told. */
	maxBodyBytes?: number;
};

/** Of a call that is refused for what it says. */
export function refusedWork(refusal: Result<never>, orderId: string | null = null): Work {
	return { orderId, requests: [], answer: () => refusal };
}

const TOO_MANY_READS = fault(
	"unavailable",
	"More requests wait than we can answer at the moment. Send this one again in a few seconds, signed anew.",
);

export type SignedCalls = ReturnType<typeof createSignedCalls>;

const JSON_HEADERS = { "content-type": "application/json", "cache-control": "no-store", ...SAFE_HEADERS };

export function createSignedCalls(
	deps: AppDeps,
	{
		callers,
		intake,
		refusals,
		turns,
	}: { callers: Callers; intake: Intake; refusals: RefusalLog; turns: Turns },
) {
	const { clock, log, metrics } = deps;
	const answerLate = createLateAnswer(clock, deps.stopSignal);

	/** What only reads takes turns with the pages, each programme's by itself. */
	async function answerRead(c: AppContext, inbound: InboundCall, endpoint: Endpoint): Promise<Response> {
		const known = await callers.findKey(c.req.header("authorization"));
		if (!known.ok) return refuse(inbound, known.fault);
		const { programme } = known.value;
		const endTurn = await turns.wait("pages", programme.public_id);
		if (endTurn === undefined) return refuse(inbound, TOO_MANY_READS, {}, programme.id);
		return answer(c, inbound, endpoint).finally(endTurn);
	}

	async function answer(c: AppContext, inbound: InboundCall, endpoint: Endpoint): Promise<Response> {
		const { method, target } = inbound;
		const header = (name: string) => c.req.header(name);
		// First of all: a large body is not read from somebody whose key nobody knows.
		const announced = await callers.findKey(header("authorization"));
		if (!announced.ok) return refuse(inbound, announced.fault);
		const body = await readBody(c.req.raw, endpoint.maxBodyBytes ?? MAX_BODY_BYTES);
		if (!body.ok) return refuse(inbound, body.fault, {}, announced.value.programme.id);
		// A body may take its time: a key that was revoked meanwhile opens nothing any more.
		const known = await callers.findKey(header("authorization"));
		if (!known.ok) return refuse(inbound, known.fault);
		const { programme } = known.value;
		const verified = await callers.verify(known.value, { method, target, header, rawBody: body.value });
		if (!verified.ok) return refuse(inbound, verified.fault, {}, programme.id);
		const caller = verified.value;
		const record = recordOf(c);
		if (record !== undefined) record.programme = programme.public_id;
		const work = endpoint({
			programme,
			keyId: caller.keyId,
			mayDecide: caller.mayDecide,
			secretId: caller.secretId,
			nowMs: clock.nowMs(),
			contentType: header("content-type"),
			contentEncoding: header("content-encoding"),
			body: body.value,
			query: targetQuery(target),
			id: c.req.param("id") ?? "",
			hangUp: () => bindingsOf(c)?.outgoing?.destroy(),
		});
		const result = await intake.take({ ...work, inbound, programme, caller });
		if (result === undefined) {
			// Reading a bulk call takes time: whoever sends it again at once, whatever it is told, is slowed down.
			if (endpoint.maxBodyBytes !== undefined) await answerLate();
			return refuse(inbound, tooManyWaiting(), {}, programme.id);
		}
		if (!result.ok) {
			metrics.countInbound(inbound.kind, result.fault.code);
			return problemAnswer(deps, result.fault);
		}
		const { outcome, httpStatus, body: answered, openStream } = result.value;
		metrics.countInbound(inbound.kind, outcome);
		if (openStream === undefined) {
			return new Response(JSON.stringify(answered), { status: httpStatus, headers: JSON_HEADERS });
		}
		const stream = openStream() ?? problemAnswer(deps, faultOf("too_many_streams", {}));
		if (stream.ok) bindingsOf(c)?.outgoing?.emit?.("takesLong");
		addSafeHeaders(stream);
		return stream;
	}

	/** A call that comes to no transaction; also for what no endpoint takes: a wrong method, a wrong path. */
	async function refuse(
		call: InboundCall,
		found: Fault,
		headers: Readonly<Record<string, string>> = {},
		programmeId: number | null = null,
	): Promise<Response> {
		metrics.countInbound(call.kind, found.code);
		await refusals.write(call, found, { programmeId });
		return problemAnswer(deps, found, headers);
	}

	return {
		async serve(c: AppContext, endpoint: Endpoint): Promise<Response> {
			const call = readInboundCall(c, deps, "api");
			try {
				if (call.method === "GET") return await answerRead(c, call, endpoint);
				return await turns.goAhead(() => answer(c, call, endpoint));
			} catch (error) {
				const about = { ...idsOf(recordOf(c)), method: call.method, target: call.target };
				log.error({ err: error, ...about }, "a signed call failed");
				return refuse(call, ourFault(error));
			}
		},
		refuse,
	};
}

/** None where a request is made in process. */
function bindingsOf(c: AppContext): AppEnv["Bindings"] | undefined {
	return c.env;
}
