// Handles a signed call from its first byte to its answer.
//
//   key found ─▶ body read ─▶ signature verified ─▶ call parsed by its endpoint ─▶ stored (intake.ts) ─▶ answer
//
// If a call is refused after its signature was verified, only the nonce and the log row are stored. If our side fails,
// the nonce is not spent.

import type { Admission } from "../../concurrency/admission.ts";
import { type Fault, fault, type Result } from "../domain/fault.ts";
import type { Caller, Callers } from "../programmes/callers.ts";
import { idsOf, recordOf } from "../request-notes.ts";
import type { Programme } from "../store/queries/programmes.ts";
import type { Answer } from "./answers.ts";
import type { CallPlan } from "./call-plan.ts";
import type { AppContext, AppDeps, AppEnv } from "./deps.ts";
import { type InboundCall, type RefusalLog, readInboundCall, targetQuery } from "./inbound-log.ts";
import { type Intake, tooManyWaiting } from "./intake.ts";
import { addSafeHeaders, ourFault, problemAnswer, SAFE_HEADERS } from "./problem.ts";
import { MAX_BODY_BYTES, type RawBody, readBody } from "./read-request.ts";

/** A call with a valid signature. Its nonce is checked later, in the transaction. */
export interface SignedCall extends RawBody, Pick<Caller, "programme" | "keyId" | "mayDecide" | "secretId"> {
	nowMs: number;
	query: URLSearchParams;
	/** The `:id` of the path, or an empty text if the path has none. */
	id: string;
	/** Closes the caller's connection. Does nothing for a request that was made in process. */
	hangUp(): void;
}

/** Parses a call without the database and returns a plan, so that several calls can share a transaction. */
export type Endpoint = ((call: SignedCall) => CallPlan) & {
	/** Maximum size of the body; MAX_BODY_BYTES by default. */
	maxBodyBytes?: number;
};

/** Returns the plan of a call that is refused because of its content. */
export function refusedPlan(refusal: Result<never>, orderId: string | null = null): CallPlan {
	return { orderId, requests: [], answer: () => refusal };
}

/** A call whose body was read and whose signature is valid. */
interface VerifiedCall {
	inbound: InboundCall;
	programme: Programme;
	caller: Caller;
	body: Uint8Array;
}

const TOO_MANY_READS = fault(
	"unavailable",
	"More requests wait than we can answer at the moment. Send this one again in a few seconds, signed anew.",
);

export type SignedCalls = ReturnType<typeof createSignedCalls>;

const JSON_HEADERS = { "content-type": "application/json", "cache-control": "no-store", ...SAFE_HEADERS };

interface SharedParts {
	callers: Callers;
	intake: Intake;
	refusals: RefusalLog;
	admission: Admission;
}

/** Dependencies of the stages of a call. */
interface StageDeps extends AppDeps, SharedParts {}

export function createSignedCalls(appDeps: AppDeps, shared: SharedParts) {
	const deps: StageDeps = { ...appDeps, ...shared };
	return {
		async serve(c: AppContext, endpoint: Endpoint): Promise<Response> {
			const call = readInboundCall(c, deps, "api");
			try {
				if (call.method === "GET") return await answerRead(deps, c, call, endpoint);
				return await answerReport(deps, c, call, endpoint);
			} catch (error) {
				const about = { ...idsOf(recordOf(c)), method: call.method, target: call.target };
				deps.log.error({ err: error, ...about }, "a signed call failed");
				return refuse(deps, call, ourFault(error));
			}
		},
		refuse: (call: InboundCall, found: Fault, headers?: Readonly<Record<string, string>>) =>
			refuse(deps, call, found, headers),
	};
}

/**
 * Answers a call that only reads. The call waits in the same queue as page requests, in which each programme counts as
 * one client.
 */
async function answerRead(
	deps: StageDeps,
	c: AppContext,
	inbound: InboundCall,
	endpoint: Endpoint,
): Promise<Response> {
	const key = await deps.callers.findKey(c.req.header("authorization"));
	if (!key.ok) return refuse(deps, inbound, key.fault);
	const { programme } = key.value;
	noteProgramme(c, programme);
	const leave = await deps.admission.admit("pages", programme.public_id);
	if (leave === undefined) return refuse(deps, inbound, TOO_MANY_READS, {}, programme.id);
	try {
		const verified = await verify(deps, c, inbound, endpoint);
		if (verified instanceof Response) return verified;
		return await answer(deps, c, verified, await store(deps, c, verified, endpoint), endpoint);
	} finally {
		leave();
	}
}

/**
 * Answers a call that writes. Such a call has priority over page requests, but only after its signature was verified.
 */
async function answerReport(
	deps: StageDeps,
	c: AppContext,
	inbound: InboundCall,
	endpoint: Endpoint,
): Promise<Response> {
	const verified = await verify(deps, c, inbound, endpoint);
	if (verified instanceof Response) return verified;
	const result = await deps.admission.runReport(() => store(deps, c, verified, endpoint));
	return answer(deps, c, verified, result, endpoint);
}

/** Reads the body and checks key and signature. Returns the answer instead if the call is refused. */
async function verify(
	deps: StageDeps,
	c: AppContext,
	inbound: InboundCall,
	endpoint: Endpoint,
): Promise<VerifiedCall | Response> {
	const { method, target } = inbound;
	const header = (name: string) => c.req.header(name);
	// The key is checked before the body is read, so that an unknown caller cannot make the service read a
	// large body.
	const announced = await deps.callers.findKey(header("authorization"));
	if (!announced.ok) return refuse(deps, inbound, announced.fault);
	noteProgramme(c, announced.value.programme);
	const body = await readBody(c.req.raw, endpoint.maxBodyBytes ?? MAX_BODY_BYTES);
	if (!body.ok) return refuse(deps, inbound, body.fault, {}, announced.value.programme.id);
	// The key is checked again, because it may have been revoked while a slow body was read.
	const key = await deps.callers.findKey(header("authorization"));
	if (!key.ok) return refuse(deps, inbound, key.fault);
	const { programme } = key.value;
	const verified = await deps.callers.verify(key.value, { method, target, header, rawBody: body.value });
	if (!verified.ok) return refuse(deps, inbound, verified.fault, {}, programme.id);
	return { inbound, programme, caller: verified.value, body: body.value };
}

/** Lets the endpoint parse the call, and stores the call. Resolves to undefined if too many calls wait. */
function store(
	deps: StageDeps,
	c: AppContext,
	{ inbound, programme, caller, body }: VerifiedCall,
	endpoint: Endpoint,
): Promise<Result<Answer> | undefined> {
	const plan = endpoint({
		programme,
		keyId: caller.keyId,
		mayDecide: caller.mayDecide,
		secretId: caller.secretId,
		nowMs: deps.clock.nowMs(),
		contentType: c.req.header("content-type"),
		contentEncoding: c.req.header("content-encoding"),
		body,
		query: targetQuery(inbound.target),
		id: c.req.param("id") ?? "",
		hangUp: () => bindingsOf(c)?.outgoing?.destroy(),
	});
	const record = recordOf(c);
	if (record !== undefined) record.order = plan.orderId;
	return deps.intake.accept({ ...plan, inbound, programme, caller });
}

/** Writes the answer of a call that was stored or refused, or opens its stream. */
async function answer(
	deps: StageDeps,
	c: AppContext,
	{ inbound, programme }: VerifiedCall,
	result: Result<Answer> | undefined,
	endpoint: Endpoint,
): Promise<Response> {
	if (result === undefined) {
		// Parsing a bulk call takes time, so the refusal is delayed to slow down a caller that repeats it.
		if (endpoint.maxBodyBytes !== undefined) await deps.admission.delayRefusal();
		return refuse(deps, inbound, tooManyWaiting(), {}, programme.id);
	}
	if (!result.ok) {
		deps.metrics.countInbound(inbound.kind, result.fault.code);
		return problemAnswer(deps, result.fault);
	}
	const { outcome, httpStatus, body: answered, openStream, orderId, conversionId } = result.value;
	const record = recordOf(c);
	if (record !== undefined) {
		record.order ??= orderId ?? null;
		record.conversion = conversionId;
	}
	deps.metrics.countInbound(inbound.kind, outcome);
	if (openStream === undefined) {
		return new Response(JSON.stringify(answered), { status: httpStatus, headers: JSON_HEADERS });
	}
	const opened = openStream();
	const stream = opened.ok ? opened.value : problemAnswer(deps, opened.fault);
	if (stream.ok) bindingsOf(c)?.outgoing?.emit?.("takesLong");
	addSafeHeaders(stream);
	return stream;
}

/** Refuses a call that needs no transaction, such as one with an unknown path, method or key. */
async function refuse(
	deps: StageDeps,
	call: InboundCall,
	found: Fault,
	headers: Readonly<Record<string, string>> = {},
	programmeId: number | null = null,
): Promise<Response> {
	deps.metrics.countInbound(call.kind, found.code);
	const isStored = await deps.refusals.write(call, found, { programmeId });
	// The refusal is delayed, so that a caller that sends garbage can make only one call a second on each connection. A
	// 503 is not delayed, because our side caused it.
	if (!isStored && found.httpStatus < 500) await deps.admission.delayRefusal();
	return problemAnswer(deps, found, headers);
}

/**
 * Records the programme of the key for the access log, also if the call is refused later, for example because of its
 * signature.
 */
function noteProgramme(c: AppContext, { public_id: programmeId }: Programme): void {
	const record = recordOf(c);
	if (record !== undefined) record.programme = programmeId;
}

/** Returns Node's objects for a request, or undefined if the request was made in process. */
function bindingsOf(c: AppContext): AppEnv["Bindings"] | undefined {
	return c.env;
}
