// Calls with requests about orders: a sale, a decision or a refund. Such a request is the body of a call, or one of up to 500
// items of a batch. A batch is one signed call and answers with an outcome or a problem for each item, in the same order.
// Batches are an addition to the contract, for shops that have a lot to report at once.

import * as z from "zod";
import { BATCH_ROWS } from "../conversions/deps.ts";
import { refuseBusy } from "../conversions/order-request.ts";
import { problemBody, type Result, refuse, succeed } from "../domain/fault.ts";
import type { Programme } from "../store/queries/programmes.ts";
import {
	type Answer,
	BATCH_BODY,
	type BatchBody,
	type BatchItem,
	decidedAnswer,
	outcomeBody,
} from "./answers.ts";
import type { RequestResult, SharedPlan } from "./call-plan.ts";
import type { AppDeps } from "./deps.ts";
import { checkFields, parseJson } from "./read-request.ts";
import { answer, type DescribedCall, type SignedRoute } from "./route.ts";
import { mentionedOrderId } from "./sale-fields.ts";
import { type Endpoint, refusedPlan, type SignedCall } from "./signed-call.ts";

/**
 * Maximum number of items in a batch, the same as the number of rows that other work handles in one
 * transaction.
 */
export const MAX_ITEMS = BATCH_ROWS;
/**
 * Maximum size of a batch, about 500 bytes for each item. A sale with every field has 250 bytes, and order
 * ids may be long.
 */
export const MAX_BATCH_BYTES = 256 * 1024;

/** Sentences that are part of every batch's description. */
export const ABOUT_ITEMS = `A call may have up to ${MAX_ITEMS} items, in a body of at most ${MAX_BATCH_BYTES / 1_024} KiB. They are handled in their order, also if several are about one order, and \`results\` has the outcome or the problem of each at the same place. A problem with one item does not affect the others. After a lost answer the call may be repeated, signed again. Nothing is done twice.`;

/** Turns a JSON object into a request about an order. */
export type Parse = (json: unknown, call: SignedCall) => Result<SharedPlan["requests"][number]>;

type Words = Pick<DescribedCall, "path" | "tag" | "operationId" | "summary" | "description">;

interface SingleCall<Body extends z.ZodObject> extends Words, Pick<DescribedCall, "answers" | "faults"> {
	/** Schema of the body in the document. It may describe more than the schema that `parse` checks. */
	body: Body;
	sample?: z.input<Body>;
	/** Returns the function that parses the body. An app calls this once. */
	parser(deps: AppDeps): Parse;
	/** Returns the coupon codes of a body, for the inbound log. */
	codesOf?(json: unknown): readonly string[];
}

/** A call with one request, which is answered with its conversion. */
export function single<Body extends z.ZodObject>({
	parser,
	codesOf = () => [],
	...words
}: SingleCall<Body>): SignedRoute {
	return {
		caller: "shop",
		method: "POST",
		...words,
		plan(deps) {
			const parse = parser(deps);
			return (call) => {
				const json = parseJson(call);
				if (!json.ok) return refusedPlan(json);
				const orderId = mentionedOrderId(json.value);
				const request = parse(json.value, call);
				if (!request.ok) return refusedPlan(request, orderId);
				return {
					orderId,
					requests: [request.value],
					answer: ([decided = refuseBusy()]) =>
						decided.ok ? succeed(decidedAnswer(decided.value, call.programme, codesOf(json.value))) : decided,
				};
			};
		},
	};
}

interface BatchCall<Item extends z.ZodObject> extends Words {
	item: Item;
	sampleItem: z.input<Item>;
	/** Result of the sample item in the documentation. */
	result: BatchItem;
	parser(deps: AppDeps): Parse;
}

/** A call with up to 500 requests. */
export function batch<Item extends z.ZodObject>({
	item,
	sampleItem,
	result,
	parser,
	...words
}: BatchCall<Item>): SignedRoute {
	const items = z
		.array(item)
		.min(1)
		.max(MAX_ITEMS)
		.describe("The items in the order in which they are handled. Several may be about the same order.");
	return {
		caller: "shop",
		method: "POST",
		...words,
		body: z.strictObject({ items }),
		sample: { items: [sampleItem] },
		answers: { 200: answer("The result of each item.", BATCH_BODY, { results: [result] }) },
		faults: ["fields"],
		plan: (deps) => batchEndpoint(deps, parser(deps)),
	};
}

function batchEndpoint(deps: Pick<AppDeps, "publicUrl">, parse: Parse): Endpoint {
	const plan: Endpoint = (call) => {
		const items = parseItems(call);
		if (!items.ok) return refusedPlan(items);
		const parsed = items.value.map((item) => ({
			orderId: mentionedOrderId(item),
			request: parse(item, call),
		}));
		return {
			orderId: null,
			size: parsed.length,
			requests: parsed.flatMap(({ request }) => (request.ok ? [request.value] : [])),
			answer(results) {
				const next = results.values();
				const done = parsed.map(({ orderId, request }) => {
					return { orderId, result: request.ok ? (next.next().value ?? refuseBusy()) : request };
				});
				return succeed(batchAnswer(deps, call.programme, done));
			},
		};
	};
	return Object.assign(plan, { maxBodyBytes: MAX_BATCH_BYTES });
}

/**
 * Schema of the outer object of a batch. Each item is checked separately, so that one bad item does not
 * refuse the others.
 */
const OUTER_BODY = z.strictObject({ items: z.array(z.unknown()) });

function parseItems(call: SignedCall): Result<readonly unknown[]> {
	const json = parseJson(call);
	if (!json.ok) return json;
	const fields = checkFields(OUTER_BODY, json.value);
	if (!fields.ok) return fields;
	const { items } = fields.value;
	if (items.length >= 1 && items.length <= MAX_ITEMS) return succeed(items);
	const advice =
		items.length === 0 ? "Send at least one." : "Nothing was recorded. Send them in several calls.";
	return refuse(
		"invalid_field",
		`items must have 1 to ${MAX_ITEMS} entries, and there are ${items.length}. ${advice}`,
		"items",
	);
}

type DoneItem = { orderId: string | null; result: RequestResult };

function batchAnswer(
	deps: Pick<AppDeps, "publicUrl">,
	programme: Programme,
	items: readonly DoneItem[],
): Answer {
	const results = items.map(
		({ result }): BatchItem =>
			result.ok ? outcomeBody(result.value, programme) : { problem: problemBody(deps, result.fault) },
	);
	const refusedItems = items.flatMap(({ orderId, result }) =>
		result.ok ? [] : [{ orderId, fault: result.fault }],
	);
	return {
		outcome: "BATCH",
		httpStatus: 200,
		body: { results } satisfies BatchBody,
		conversionId: null,
		detail: summarize(items),
		refusedItems,
	};
}

/**
 * Returns a summary such as "3 items: 2 RECORDED, 1 DUPLICATE. Differs from the conversion on record: A-1
 * (basketValue)".
 */
function summarize(items: readonly DoneItem[]): string {
	const counts = Map.groupBy(items, ({ result }) => (result.ok ? result.value.outcome : "refused"));
	const words = [...counts].map(([word, { length }]) => `${length} ${word}`);
	const differing = items.flatMap(({ orderId, result }) =>
		result.ok && result.value.differs?.length ? [`${orderId} (${result.value.differs.join(", ")})`] : [],
	);
	const also =
		differing.length === 0 ? "" : `. Differs from the conversion on record: ${differing.join(", ")}`;
	return `${items.length} ${items.length === 1 ? "item" : "items"}: ${words.join(", ")}${also}`;
}
