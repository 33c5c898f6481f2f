// An endpoint of the signed API, in two steps that stay apart: it reads the call without the database, and says what
// to do inside a transaction. So what several calls ask for shares one.

import type { Decided, InTransaction } from "../conversions/deps.ts";
import { type OrderRequest, refuseBusy } from "../conversions/judge-and-move.ts";
import { type Result, succeed } from "../domain/fault.ts";
import type { Programme } from "../store/queries/programmes.ts";
import type { Db } from "../store/store.ts";
import { type Answer, decidedAnswer, type Outcome } from "./answers.ts";
import { parseJson, type RawBody } from "./read-request.ts";
import { mentionedOrderId } from "./sale-fields.ts";
import type { IntakeCall } from "./store-calls.ts";

/** A call whose signature is good; its nonce is yet to be accepted, inside the transaction. */
export interface SignedCall extends RawBody {
	programme: Programme;
	/** The row of the key it was made with. */
	keyId: number;
	/** And of the secret that it was signed with. */
	secretId: number;
	nowMs: number;
	query: URLSearchParams;
	/** The `:id` of the path; empty where the path has none. */
	id: string;
	/** Closes the caller's connection; does nothing for a request made in process. */
	hangUp(): void;
}

export interface Understood {
	/** For the inbound log, also of a refused call: people search it by order. */
	orderId: string | null;
	work: Result<Work>;
}

export type Work =
	/** What a GET reads or a listener tells, in a short transaction of its own. */
	| { kind: "look"; look: Look }
	/** What a POST asks for, in one transaction with what others ask for. */
	| { kind: "ask"; ask: (deps: InTransaction) => Asked };

export type Look = (trx: Db) => Promise<Result<Answer>>;

export type Asked = Pick<IntakeCall, "requests" | "answer">;

export type Endpoint = ((call: SignedCall) => Understood) & {
	/** MAX_BODY_BYTES unless told. More is only read from somebody who has a key. */
	maxBodyBytes?: number;
};

/** Of a POST: its JSON is one request about an order, which is answered with a conversion. */
export function postEndpoint<Request>(
	parse: (json: unknown, call: SignedCall) => Result<Request>,
	requestFor: (deps: InTransaction, programme: Programme, request: Request) => OrderRequest<Decided<Outcome>>,
): Endpoint {
	return (call) => {
		const { programme } = call;
		const json = parseJson(call);
		if (!json.ok) return { orderId: null, work: json };
		const orderId = mentionedOrderId(json.value);
		const parsed = parse(json.value, call);
		if (!parsed.ok) return { orderId, work: parsed };
		const ask = (deps: InTransaction): Asked => ({
			requests: [requestFor(deps, programme, parsed.value)],
			answer: ([decided = refuseBusy()]) =>
				decided.ok ? succeed(decidedAnswer(decided.value, programme)) : decided,
		});
		return { orderId, work: succeed({ kind: "ask", ask }) };
	};
}
