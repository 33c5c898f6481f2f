// An endpoint of the signed API, in two steps that stay apart: it reads the call without the database, and says what
// to do inside the transaction. So the work of several calls may share one transaction.

import type { Decided, InTransaction } from "../conversions/deps.ts";
import { type Result, succeed } from "../domain/fault.ts";
import type { Programme } from "../store/programmes.ts";
import type { Db } from "../store/store.ts";
import { type Answer, decidedAnswer, type Outcome } from "./answers.ts";
import { parseJson, type RawBody } from "./read-request.ts";
import { mentionedOrderId } from "./sale-fields.ts";

/** A call whose signature is good; its nonce is yet to be accepted, inside the transaction. */
export interface SignedCall extends RawBody {
	programme: Programme;
	/** The row of the key it was made with. */
	keyId: number;
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

/** Returns a fault before it writes anything: what is refused commits the nonce and the log row alone. */
export type Work = (trx: Db, deps: InTransaction) => Promise<Result<Answer>>;

export type Endpoint = (call: SignedCall) => Understood;

/** Of a POST: its JSON is one request to a use case, which answers with a conversion. */
export function postEndpoint<Request>(
	parse: (json: unknown, call: SignedCall) => Result<Request>,
	useCase: (
		trx: Db,
		deps: InTransaction,
		programme: Programme,
		request: Request,
	) => Promise<Result<Decided<Outcome>>>,
): Endpoint {
	return (call) => {
		const json = parseJson(call);
		if (!json.ok) return { orderId: null, work: json };
		const orderId = mentionedOrderId(json.value);
		const parsed = parse(json.value, call);
		if (!parsed.ok) return { orderId, work: parsed };
		const work: Work = async (trx, deps) => {
			const decided = await useCase(trx, deps, call.programme, parsed.value);
			return decided.ok ? succeed(decidedAnswer(decided.value, call.programme)) : decided;
		};
		return { orderId, work: succeed(work) };
	};
}
