// POST /v1/conversions/batch and /v1/decisions/batch: up to 500 sales or decisions in one signed call, each with an
// outcome or a problem of its own, in the order in which they were sent. Beside the contract: for shops that catch up.

import * as z from "zod";
import { BATCH_ROWS, type Decided, type InTransaction } from "../conversions/deps.ts";
import { type OrderRequest, refuseBusy } from "../conversions/judge-and-move.ts";
import { problemBody, type Result, refuse, succeed } from "../domain/fault.ts";
import type { Programme } from "../store/queries/programmes.ts";
import { type Answer, type BatchItem, conversionBody, type Outcome } from "./answers.ts";
import type { AppDeps } from "./deps.ts";
import type { Asked, Endpoint, SignedCall } from "./endpoint.ts";
import { checkFields, parseJson } from "./read-request.ts";
import { mentionedOrderId } from "./sale-fields.ts";

/** As many as other work takes in one transaction. */
export const MAX_ITEMS = BATCH_ROWS;
/** 500 bytes for each: a sale with every field has 250, and order ids may be long. */
export const MAX_BATCH_BYTES = 256 * 1024;

/** What is checked of the body as a whole; each item is checked by itself. */
const BATCH_BODY = z.strictObject({ items: z.array(z.unknown()) });

/** For the reference. */
export function batchBody(item: z.ZodObject) {
	return z.strictObject({
		items: z
			.array(item)
			.min(1)
			.max(MAX_ITEMS)
			.describe("In the order in which they are to be taken; several may be about the same order."),
	});
}

interface ReadItem<Request> {
	orderId: string | null;
	request: Result<Request>;
}

export function createPostBatch<Request>(
	deps: Pick<AppDeps, "publicUrl">,
	parseItem: (json: unknown, call: SignedCall) => Result<Request>,
	requestFor: (deps: InTransaction, programme: Programme, request: Request) => OrderRequest<Decided<Outcome>>,
): Endpoint {
	const understand: Endpoint = (call) => {
		const items = parseItems(call);
		if (!items.ok) return { orderId: null, work: items };
		const { programme } = call;
		const read = items.value.map((item): ReadItem<Request> => {
			return { orderId: mentionedOrderId(item), request: parseItem(item, call) };
		});
		const ask = (inTransaction: InTransaction): Asked => {
			const asked = read.map(({ orderId, request }) => ({
				orderId,
				refusal: request.ok ? undefined : request,
				request: request.ok ? requestFor(inTransaction, programme, request.value) : undefined,
			}));
			const requests = asked.flatMap(({ request }) => request ?? []);
			return {
				requests,
				answer(results) {
					const resultOf = new Map(requests.map((request, index) => [request, results[index]]));
					const done = asked.map(({ orderId, refusal, request }) => {
						const result = request === undefined ? undefined : resultOf.get(request);
						return { orderId, result: refusal ?? result ?? refuseBusy() };
					});
					return succeed(batchAnswer(deps, programme, done));
				},
			};
		};
		return { orderId: null, work: succeed({ kind: "ask", ask }) };
	};
	return Object.assign(understand, { maxBodyBytes: MAX_BATCH_BYTES });
}

function parseItems(call: SignedCall): Result<readonly unknown[]> {
	const json = parseJson(call);
	if (!json.ok) return json;
	const fields = checkFields(BATCH_BODY, json.value);
	if (!fields.ok) return fields;
	const { items } = fields.value;
	if (items.length >= 1 && items.length <= MAX_ITEMS) return succeed(items);
	const cure = items.length === 0 ? "Send at least one." : "Nothing was taken: send them in several calls.";
	return refuse(
		"invalid_field",
		`items must have 1 to ${MAX_ITEMS} entries, and there are ${items.length}. ${cure}`,
		"items",
	);
}

type DoneItem = { orderId: string | null; result: Result<Decided<Outcome>> };

function batchAnswer(
	deps: Pick<AppDeps, "publicUrl">,
	programme: Programme,
	items: readonly DoneItem[],
): Answer {
	const results = items.map(
		({ result }): BatchItem =>
			result.ok
				? { outcome: result.value.outcome, conversion: conversionBody(result.value.conversion, programme) }
				: { problem: problemBody(deps, result.fault) },
	);
	const refusedItems = items.flatMap(({ orderId, result }) =>
		result.ok ? [] : [{ orderId, fault: result.fault }],
	);
	return {
		outcome: "BATCH",
		httpStatus: 200,
		body: { results },
		conversionId: null,
		detail: summarize(items),
		refusedItems,
	};
}

/** "3 items: 2 RECORDED, 1 refused". */
function summarize(items: readonly DoneItem[]): string {
	const counts = Map.groupBy(items, ({ result }) => (result.ok ? result.value.outcome : "refused"));
	const words = [...counts].map(([word, { length }]) => `${length} ${word}`);
	return `${items.length} ${items.length === 1 ? "item" : "items"}: ${words.join(", ")}`;
}
