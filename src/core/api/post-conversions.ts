// The POST endpoints for a shop's server. /v1/conversions reports a sale, or confirms a pixel's report.
// /v1/approvals, /v1/rejections and /v1/reversals decide about an order by the shop's own order id, and
// /v1/refunds reports that a part of an order's value was refunded. The batch endpoints take up to 500 sales or
// decisions in one signed call and answer with an outcome or a problem for each item, in the same order. They
// are an addition to the contract, for shops that have a lot to report at once, and so are refunds.

import * as z from "zod";
import {
	CLICK_ID,
	COUPON_CODE,
	COUPON_CODES,
	mentionedCodes,
	openerOf,
	parseCouponCodes,
} from "#modules/partners/api/sale-signals.ts";
import { type ClickSealer, createClickSealer } from "#modules/partners/domain/click-token.ts";
import { REFUND_ID } from "#modules/refunds/api/refund-fields.ts";
import { parseRefund, REFUND_BODY } from "#modules/refunds/api/refund-request.ts";
import { DECISION_MOVES, type DecisionMove, decisionRequest, judgeDecision } from "../conversions/decide.ts";
import { BATCH_ROWS, type Decided, type InTransaction } from "../conversions/deps.ts";
import { type OrderRequest, refuseBusy } from "../conversions/order-request.ts";
import { reportRequest } from "../conversions/record.ts";
import type { Report } from "../conversions/report.ts";
import { problemBody, type Result, refusalOf, refuse, succeed } from "../domain/fault.ts";
import type { Programme } from "../store/queries/programmes.ts";
import { type Answer, type BatchItem, decidedAnswer, type Outcome, outcomeBody } from "./answers.ts";
import type { RequestResult, SharedPlan } from "./call-plan.ts";
import type { AppDeps } from "./deps.ts";
import { checkFields, parseJson } from "./read-request.ts";
import {
	APPROVAL_BODY,
	mentionedOrderId,
	OCCURRED_AT,
	parseOccurredAt,
	parseOrderName,
	parseSale,
	REASONED_BODY,
	SALE,
	TEST,
} from "./sale-fields.ts";
import { type Endpoint, refusedPlan, type SignedCall, type SignedRoute } from "./signed-call.ts";

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

export const SALE_BODY = z.strictObject({
	...SALE,
	occurredAt: OCCURRED_AT.optional(),
	test: TEST.default(false),
	clickId: CLICK_ID.optional(),
	couponCode: COUPON_CODE.optional(),
	couponCodes: COUPON_CODES.optional(),
});
const ITEM_DECISIONS = [...DECISION_MOVES, "refund"] as const;
/** Item of a batch of decisions. Each item names its decision. */
export const DECISION_ITEM = REFUND_BODY.extend({
	refundId: REFUND_ID.optional(),
	decision: z.string().meta({
		enum: ITEM_DECISIONS,
		description:
			"The decision. All but `approve` need a `reason`. `refund` has the fields of `POST /v1/refunds`, and no other decision has a `refundId` or an amount.",
		examples: ["approve"],
	}),
});
/**
 * Schema of the outer object of a batch. Each item is checked separately, so that one bad item does not
 * refuse the others.
 */
const BATCH_BODY = z.strictObject({ items: z.array(z.unknown()) });

/** Returns the schema of a batch for the API reference. */
export function batchBody(item: z.ZodObject) {
	return z.strictObject({
		items: z
			.array(item)
			.min(1)
			.max(MAX_ITEMS)
			.describe("The items in the order in which they are handled. Several may be about the same order."),
	});
}

/** Turns a JSON object into a request about an order. */
export type Parse = (json: unknown, call: SignedCall) => Result<SharedPlan["requests"][number]>;

export const POST_ROUTES: readonly SignedRoute[] = [
	post("/v1/conversions", (deps) => single(saleParser(deps))),
	post("/v1/conversions/batch", (deps) => batch(deps, saleParser(deps))),
	post("/v1/decisions/batch", (deps) => batch(deps, parseDecisionItem)),
	post("/v1/approvals", () => single((json, call) => parseDecision(json, call, "approve"))),
	post("/v1/rejections", () => single((json, call) => parseDecision(json, call, "reject"))),
	post("/v1/reversals", () => single((json, call) => parseDecision(json, call, "reverse"))),
];

function post(path: string, create: SignedRoute["create"]): SignedRoute {
	return { method: "POST", path, create };
}

function saleParser(deps: InTransaction & Pick<AppDeps, "keyRing">): Parse {
	const sealer = createClickSealer(deps.keyRing);
	return (json, call) => {
		const report = parseReport(json, call, sealer);
		return report.ok ? succeed(reportRequest(deps, call.programme, report.value)) : report;
	};
}

function parseReport(json: unknown, { programme, nowMs }: SignedCall, sealer: ClickSealer): Result<Report> {
	const fields = checkFields(SALE_BODY, json);
	if (!fields.ok) return fields;
	const { occurredAt, test: isTest } = fields.value;
	const sale = parseSale(programme, fields.value);
	if (!sale.ok) return sale;
	const occurredAtMs = occurredAt === undefined ? succeed(null) : parseOccurredAt(occurredAt, nowMs);
	if (!occurredAtMs.ok) return occurredAtMs;
	const couponCodes = parseCouponCodes(fields.value);
	if (!couponCodes.ok) return couponCodes;
	return succeed({
		source: "postback",
		...sale.value,
		occurredAtMs: occurredAtMs.value,
		isTest,
		openClicks: openerOf(fields.value.clickId, sealer),
		couponCodes: couponCodes.value,
	});
}

function parseDecision(
	json: unknown,
	{ programme, mayDecide }: SignedCall,
	move: DecisionMove,
): Result<OrderRequest<Decided<Outcome>>> {
	const fields: Result<{ orderId: string; eventType: string; reason?: string | undefined }> =
		move === "approve" ? checkFields(APPROVAL_BODY, json) : checkFields(REASONED_BODY, json);
	if (!fields.ok) return fields;
	const order = parseOrderName(fields.value);
	if (!order.ok) return order;
	const decision = judgeDecision("shop", move, fields.value.reason);
	if (!decision.ok) return decision;
	const request = decisionRequest(programme, order.value, decision.value);
	return succeed(mayDecide || move === "reverse" ? request : forTestsOnly(request));
}

/**
 * Restricts a request to test conversions. A key that may only report may also decide about test conversions.
 */
function forTestsOnly<Done>(request: OrderRequest<Done>): OrderRequest<Done> {
	return {
		...request,
		judge: (present, about) =>
			present === null || present.test === 1
				? request.judge(present, about)
				: { kind: "answer", result: refusalOf("key_may_not_decide", {}) },
	};
}

function parseDecisionItem(json: unknown, call: SignedCall): Result<OrderRequest<Decided<Outcome>>> {
	const fields = checkFields(DECISION_ITEM, json);
	if (!fields.ok) return fields;
	const { decision, ...body } = fields.value;
	const move = ITEM_DECISIONS.find((one) => one === decision);
	if (move === "refund") return parseRefund(body, call);
	if (move !== undefined) return parseDecision(body, call, move);
	return refuse("invalid_field", `decision must be one of ${ITEM_DECISIONS.join(", ")}.`, "decision");
}

/** Creates an endpoint for a single request, which is answered with its conversion. */
export function single(parse: Parse): Endpoint {
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
				decided.ok
					? succeed(decidedAnswer(decided.value, call.programme, mentionedCodes(json.value)))
					: decided,
		};
	};
}

/** Creates an endpoint for a batch of requests. */
function batch(deps: Pick<AppDeps, "publicUrl">, parse: Parse): Endpoint {
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

function parseItems(call: SignedCall): Result<readonly unknown[]> {
	const json = parseJson(call);
	if (!json.ok) return json;
	const fields = checkFields(BATCH_BODY, json.value);
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
		body: { results },
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
