// The fast way to store calls that report new sales. If all orders of a call are new, as for most sales, the
// rows to insert are known before the database is asked, and a single statement inserts them
// (store/new-sales.ts). All other calls are stored by `storeCalls` (store-calls.ts), which can store every
// call but needs several statements. A call looks new if
//
//   - it only reports sales,
//   - no other call of the batch has its nonce or one of its orders, so the order of the calls does not matter,
//   - its programme reports sales either by server or by pixel. With both, most orders are reported twice,
//   - it is not the first call that worked for its programme, and the use of its key was recorded recently.
//
// If one of the calls turns out not to be new, the statement stores nothing, and `storeCalls` stores all calls.

import type { InTransaction } from "../conversions/deps.ts";
import { byOrder } from "../conversions/make-moves.ts";
import { owedByNewSales, type PreparedSale, prepareNewSale } from "../conversions/new-sales.ts";
import type { ReportRequest } from "../conversions/record.ts";
import { type Result, succeed } from "../domain/fault.ts";
import { compareNonces } from "../store/hot-writes.ts";
import type { StoredNewSales } from "../store/new-sales.ts";
import { type KnownPartnerships, readPartnerships, type Signals } from "../store/queries/credits.ts";
import { NOTHING_OWED, type Owed } from "../store/queries/queue.ts";
import type { LockWaitMs, Store } from "../store/store.ts";
import type { Answer } from "./answers.ts";
import type { SharedCall } from "./call-plan.ts";
import { inboundRows } from "./store-calls.ts";

export type NewSalesStored =
	| {
			kind: "stored";
			/** Results of the calls that were stored. Calls that are not in the map had no effect. */
			results: ReadonlyMap<SharedCall, Result<Answer>>;
			owed: Owed;
	  }
	| Extract<StoredNewSales, { kind: "failed" }>;

const NOTHING_STORED: NewSalesStored = { kind: "stored", results: new Map(), owed: NOTHING_OWED };

/** A call that looks new, and the rows that it inserts. */
interface PreparedCall {
	call: SharedCall;
	sales: readonly PreparedSale[];
	result: Result<Answer>;
}

/**
 * Stores the calls that look new in one statement. It stores none of them if one turns out not to be new. The
 * calls of programmes for which `isLeftOut` returns true are left out.
 */
export async function storeNewSales(
	deps: InTransaction & { store: Pick<Store, "storeNewSales" | "db"> },
	calls: readonly SharedCall[],
	isLeftOut: (programmeId: number) => boolean,
	maxLockWaitMs: LockWaitMs,
): Promise<NewSalesStored> {
	const { store, clock } = deps;
	if (store.storeNewSales === null) return NOTHING_STORED;
	const prepared = await prepareCalls(deps, calls, isLeftOut);
	if (prepared.length === 0) return NOTHING_STORED;
	const nowMs = clock.nowMs();
	const sales = prepared.flatMap((one) => one.sales.map(({ sale }) => sale)).sort(byOrder);
	const nonces = prepared.flatMap(({ call: { caller } }) => caller?.nonce ?? []).sort(compareNonces);
	const inboundCalls = prepared.flatMap(({ call, result }) =>
		inboundRows({ call, isReplayed: false, result }, nowMs),
	);
	const readAtMs = clock.monotonicMs();
	const stored = await store.storeNewSales({ nonces, sales, inboundCalls }, maxLockWaitMs);
	switch (stored.kind) {
		case "conflict":
			return NOTHING_STORED;
		case "failed":
			return stored;
		case "stored":
			return {
				kind: "stored",
				results: new Map(prepared.map(({ call, result }) => [call, result])),
				owed: owedByNewSales(sales, stored, readAtMs),
			};
	}
}

/** Prepares the calls that look new. The partnerships that they may credit are read first. */
async function prepareCalls(
	deps: InTransaction & { store: Pick<Store, "db"> },
	calls: readonly SharedCall[],
	isLeftOut: (programmeId: number) => boolean,
): Promise<PreparedCall[]> {
	const repeated = findRepeated(calls);
	const reports = calls.flatMap((call) => {
		if (isLeftOut(call.programme.id) || !looksNew(call)) return [];
		return namesOf(call).some((name) => repeated.has(name)) ? [] : (reportsOf(call) ?? []);
	});
	const signals = reports.flatMap((one) => one.requests.flatMap((request) => request.signals ?? []));
	const partnerships = await readPartnerships(deps.store.db, deps.store.writes, signals);
	return reports.flatMap((one) => prepareCall(deps, one, partnerships) ?? []);
}

/** A call that only reports sales. */
interface ReportCall {
	call: SharedCall;
	requests: readonly { report: ReportRequest; signals: Signals | undefined }[];
}

/** Returns the reports of a call, or undefined if one of its requests is not a report. */
function reportsOf(call: SharedCall): ReportCall | undefined {
	const reports = call.requests.flatMap((request) => ("judgeAsFirst" in request ? [request] : []));
	if (reports.length < call.requests.length) return undefined;
	return { call, requests: reports.map((report) => ({ report, signals: report.findSignals?.() })) };
}

/**
 * Prepares the rows of a call that looks new. Returns undefined if it shows for the first time that the
 * programme's pixel works.
 */
function prepareCall(
	deps: InTransaction,
	{ call, requests }: ReportCall,
	partnerships: KnownPartnerships,
): PreparedCall | undefined {
	const { programme } = call;
	const sales: PreparedSale[] = [];
	for (const { report, signals } of requests) {
		const prepared = prepareNewSale(deps, programme, report, partnerships, signals);
		// The statement for new sales does not record the time at which a programme's pixel first worked.
		// `storeCalls` does, so it must store this call.
		if (prepared.decided.showsPixelWorks && programme.first_pixel_at_ms === null) return undefined;
		sales.push(prepared);
	}
	return { call, sales, result: call.answer(sales.map(({ decided }) => succeed(decided))) };
}

function looksNew({ caller, programme, requests }: SharedCall): boolean {
	const { first_signed_at_ms: firstSignedAtMs, first_pixel_at_ms: firstPixelAtMs } = programme;
	if (requests.length === 0 || (firstSignedAtMs !== null && firstPixelAtMs !== null)) return false;
	return caller === null || (caller.keyUsedAtMs === null && firstSignedAtMs !== null);
}

/** Returns the nonces and orders that occur more than once in the batch. */
function findRepeated(calls: readonly SharedCall[]): ReadonlySet<string> {
	const seen = new Set<string>();
	const repeated = new Set<string>();
	for (const name of calls.flatMap(namesOf)) {
		if (seen.has(name)) repeated.add(name);
		seen.add(name);
	}
	return repeated;
}

/**
 * Returns a text for the call's nonce and one for each of its orders, to find duplicates in a batch. Orders
 * that differ only in the event type get the same text.
 */
function namesOf({ caller, requests }: SharedCall): string[] {
	const orders = requests.map(({ programmeId, orderId }) => `order ${programmeId} ${orderId}`);
	if (caller === null) return orders;
	const { programme_id, nonce } = caller.nonce;
	return [`nonce ${programme_id} ${nonce}`, ...orders];
}
