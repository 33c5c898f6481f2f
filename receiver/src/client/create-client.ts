// The shop's client for the signed API. It reports sales, decides on them and looks them up. Every expected
// outcome is a return value. Only `createClient` throws, if an option can never work.

import type { Conversion } from "../conversion-fields.ts";
import {
	type Decided,
	type Page,
	type ReadAnswer,
	type Refunded,
	readAbout,
	readDecided,
	readPage,
	readRefunded,
	readShown,
	type Shown,
} from "./answer.ts";
import { type Batch, readBatch, writeBatch } from "./batch.ts";
import { type ClientSettings, makeCall, type Success } from "./call.ts";
import { type CallFailure, refuseUnsent } from "./failure.ts";
import { type ClientOptions, readOptions } from "./options.ts";
import { type Programme, readProgramme } from "./programme.ts";
import {
	type Approval,
	type ConversionQuery,
	type Decision,
	type ReasonedDecision,
	type Refund,
	type Sale,
	writeQuery,
	writeReport,
} from "./report.ts";

export type CallOptions = { readonly signal?: AbortSignal | undefined };

type SaleOutcome = "RECORDED" | "CONFIRMED" | "DUPLICATE";
type DecisionOutcome = "APPROVED" | "REJECTED" | "REVERSED" | "REFUNDED";

/**
 * Result of a reported sale. If `attempts` is above one, `DUPLICATE` most likely refers to an earlier try
 * whose answer was lost.
 */
export type RecordResult = Success<Decided<SaleOutcome>> | CallFailure;
export type ApproveResult = Success<Decided<"APPROVED">> | CallFailure;
export type RejectResult = Success<Decided<"REJECTED">> | CallFailure;
export type ReverseResult = Success<Decided<"REVERSED">> | CallFailure;
/** Result of a refund. The outcome is `REVERSED` if nothing of the order was left. */
export type RefundResult = Success<Refunded> | CallFailure;
/**
 * Result of a batch. Success means that the service has processed every item. The result of each item says
 * what happened to it.
 */
export type RecordManyResult = Success<Batch<SaleOutcome>> | CallFailure;
export type DecideManyResult = Success<Batch<DecisionOutcome>> | CallFailure;
export type ConversionResult = Success<Shown> | CallFailure;
export type PageResult = Success<Page> | CallFailure;
export type ProgrammeResult = Success<{ readonly programme: Programme }> | CallFailure;
/** A conversion, or as the last item the reason why the list ends early. */
export type ListedConversion = { readonly ok: true; readonly conversion: Conversion } | CallFailure;

export type Client = {
	/** Reports a sale, or confirms a sale that a pixel reported. */
	record(sale: Sale, options?: CallOptions): Promise<RecordResult>;
	approve(approval: Approval, options?: CallOptions): Promise<ApproveResult>;
	reject(rejection: ReasonedDecision, options?: CallOptions): Promise<RejectResult>;
	reverse(reversal: ReasonedDecision, options?: CallOptions): Promise<ReverseResult>;
	/** Reports that a part of an order was paid back. */
	refund(refund: Refund, options?: CallOptions): Promise<RefundResult>;
	/** Reports up to 500 sales in one call. Each sale has its own result, in the same order. */
	recordMany(sales: readonly Sale[], options?: CallOptions): Promise<RecordManyResult>;
	/** Makes up to 500 decisions in one call. The service processes them in their order. */
	decideMany(decisions: readonly Decision[], options?: CallOptions): Promise<DecideManyResult>;
	/** Returns one conversion with its refunds. */
	conversion(id: string, options?: CallOptions): Promise<ConversionResult>;
	/** Returns the terms of the programme on which a shop's code depends. */
	programme(options?: CallOptions): Promise<ProgrammeResult>;
	/** Returns one page of conversions, newest first unless the query changes the order. */
	conversions(query?: ConversionQuery, options?: CallOptions): Promise<PageResult>;
	/** Returns all conversions and requests page after page. Ends after a failure. */
	allConversions(query?: ConversionQuery, options?: CallOptions): AsyncGenerator<ListedConversion, void>;
};

const saleOutcomes = ["RECORDED", "CONFIRMED", "DUPLICATE"] as const;
const decisionOutcomes = ["APPROVED", "REJECTED", "REVERSED", "REFUNDED"] as const;
const readRecorded = readDecided(saleOutcomes);
const readApproved = readDecided(["APPROVED"]);
const readRejected = readDecided(["REJECTED"]);
const readReversed = readDecided(["REVERSED"]);

/** Form of the service's ids. Any other text in a path could change the address of the request. */
const idForm = /^\w{1,64}$/;
/** Largest page size that the service allows. With this size, a list needs the fewest requests. */
const largestPage = 200;

/** Creates a client. Throws if the URL, key, secret or another option cannot be valid. */
export function createClient(options: ClientOptions): Client {
	const settings = readOptions(options);
	const client: Client = {
		record: (sale, call) => post(settings, "/v1/conversions", sale, readRecorded, call),
		approve: (approval, call) => post(settings, "/v1/approvals", approval, readApproved, call),
		reject: (rejection, call) => post(settings, "/v1/rejections", rejection, readRejected, call),
		reverse: (reversal, call) => post(settings, "/v1/reversals", reversal, readReversed, call),
		refund: (refund, call) => post(settings, "/v1/refunds", refund, readRefunded, call),
		recordMany: (sales, call) => postMany(settings, "/v1/conversions/batch", sales, saleOutcomes, call),
		decideMany: (decisions, call) =>
			postMany(settings, "/v1/decisions/batch", decisions, decisionOutcomes, call),
		async conversion(id, call) {
			if (typeof id !== "string" || !idForm.test(id)) {
				return refuseUnsent("unknown_conversion", "The id", "is not of the form of a conversion's (cnv_…).");
			}
			const path = `/v1/conversions/${id}`;
			return makeCall(settings, { method: "GET", path, read: readAbout("id", id, readShown) }, call?.signal);
		},
		programme: (call) =>
			makeCall(settings, { method: "GET", path: "/v1/programme", read: readProgramme }, call?.signal),
		async conversions(query = {}, call) {
			const written = writeQuery(query);
			if (!written.ok) return written;
			return makeCall(settings, { method: "GET", path: written.path, read: readPage }, call?.signal);
		},
		allConversions: (query = {}, call) => walkPages(client, query, call),
	};
	return client;
}

async function post<Value extends { readonly conversion: Conversion }>(
	settings: ClientSettings,
	path: string,
	report: Sale | Approval | ReasonedDecision | Refund,
	readAnswer: ReadAnswer<Value>,
	options: CallOptions | undefined,
): Promise<Success<Value> | CallFailure> {
	const written = writeReport(report);
	if (!written.ok) return written;
	const read = readAbout("orderId", report.orderId, readAnswer);
	return makeCall(settings, { method: "POST", path, body: written.text, read }, options?.signal);
}

async function postMany<Outcome extends string>(
	settings: ClientSettings,
	path: string,
	items: readonly (Sale | Decision)[],
	outcomes: readonly Outcome[],
	options: CallOptions | undefined,
): Promise<Success<Batch<Outcome>> | CallFailure> {
	const written = writeBatch(items);
	if (!written.ok) return written;
	const read = readBatch(written.orderIds, outcomes);
	return makeCall(settings, { method: "POST", path, body: written.text, read }, options?.signal);
}

async function* walkPages(
	client: Client,
	query: ConversionQuery,
	call: CallOptions | undefined,
): AsyncGenerator<ListedConversion, void> {
	const written = writeQuery(query);
	if (!written.ok) {
		yield written;
		return;
	}
	let cursor = query.cursor;
	for (;;) {
		const page = await client.conversions({ limit: largestPage, ...query, cursor }, call);
		if (!page.ok) {
			yield page;
			return;
		}
		for (const conversion of page.conversions) yield { ok: true, conversion };
		if (page.nextCursor === null) return;
		if (page.nextCursor === cursor) {
			yield failWalk(page.attempts);
			return;
		}
		cursor = page.nextCursor;
	}
}

// The service returned the same cursor again. Continuing would return the same page forever.
function failWalk(attempts: number): CallFailure {
	const detail = "The listing's nextCursor leads back to the page it came with, so there is no way on.";
	return { ok: false, kind: "unexpected", retryable: true, status: 200, detail, attempts };
}
