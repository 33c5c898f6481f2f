// Review: the conversions of all programmes, for the staff who look for what should not be paid.

import { html } from "hono/html";
import { type RejectedMany, rejectMany } from "../../conversions/decide-from-page.ts";
import { STATUSES } from "../../domain/conversion.ts";
import { plainWords } from "../../domain/fault.ts";
import { readOrderSearch } from "../../domain/order-search.ts";
import type { ConversionFilter } from "../../store/conversion-filter.ts";
import { listConversions } from "../../store/conversion-list.ts";
import type { Conversion } from "../../store/conversions.ts";
import { listNewestProgrammes } from "../../store/programme-people.ts";
import { findProgramme, findProgrammesById, type Programme } from "../../store/programmes.ts";
import type { Db } from "../../store/store.ts";
import { emptyState } from "../components/blocks.ts";
import { STATUS_WORDS } from "../components/conversion-words.ts";
import type { RefusedDecision } from "../components/decision-bar.ts";
import { linkButton, selectField, textField } from "../components/forms.ts";
import { timeTag } from "../components/text.ts";
import { deciderOf } from "../conversions/deciding.ts";
import {
	answerConversionList,
	type ConversionTable,
	LIST_COLUMNS,
	orderColumn,
	SELECTION_FORM,
} from "../conversions/list-view.ts";
import { readTotals } from "../conversions/totals.ts";
import type { PageDeps } from "../deps.ts";
import type { WebContext } from "../env.ts";
import type { ReadFilters } from "../filter-query.ts";
import { setFlash } from "../flash.ts";
import type { Content, Html } from "../html.ts";
import { PROGRAMMES_PATH, REVIEW_PATH, withQuery } from "../paths.ts";
import { AGE_NAMES, AGES, type Age, parseReviewQuery, type ReviewQuery } from "./review-query.ts";

/** More do not fit into a menu; an older programme's conversions are found on its own page. */
const PROGRAMMES_IN_MENU = 50;

export function showReview(c: WebContext, deps: PageDeps): Promise<Response> {
	return showReviewOf(c, deps, parseReviewQuery(new URL(c.req.url).search));
}

/** The review team rejects what it ticked, in whatever programmes it is. */
export async function rejectSelected(c: WebContext, deps: PageDeps): Promise<Response> {
	const form = SELECTION_FORM.parse(await c.req.parseBody({ all: true }));
	const request = { conversionIds: form.conversion, reason: form.reason };
	const rejected = await rejectMany(deps, deciderOf(c), request);
	const filters = parseReviewQuery(form.back ?? "");
	if (!rejected.ok) {
		const refused = { ticked: form.conversion, reason: form.reason, fault: rejected.fault };
		return showReviewOf(c, deps, filters, refused);
	}
	setFlash(c, rejected.value.refused.length === 0 ? "good" : "warn", describe(rejected.value));
	return c.redirect(withQuery(REVIEW_PATH, filters.query), 303);
}

function describe({ changed, already, refused }: RejectedMany): string {
	const sentences = [`${changed} rejected.`];
	if (already > 0) sentences.push(`${already} ${already === 1 ? "was" : "were"} rejected before.`);
	const [first] = refused;
	if (first !== undefined) {
		const rest = refused.length - 1;
		const others = rest === 0 ? "" : ` ${rest} more ${rest === 1 ? "was" : "were"} refused.`;
		sentences.push(`Order ${first.conversion.order_id}: ${plainWords(first.fault)}${others}`);
	}
	return sentences.join(" ");
}

/** The first page of a list that is filtered otherwise. */
function addressWith(query: ReviewQuery, change: Partial<ReviewQuery>): string {
	return withQuery(REVIEW_PATH, { ...query, after: undefined, ...change });
}

async function showReviewOf(
	c: WebContext,
	deps: PageDeps,
	filters: ReadFilters<ReviewQuery>,
	refused?: RefusedDecision,
): Promise<Response> {
	const { db } = deps.store;
	const { query } = filters;
	const programme = query.programme === undefined ? undefined : await findProgramme(db, query.programme);
	const filter: ConversionFilter = {
		programmeId: programme?.id,
		search: query.orderId === undefined ? undefined : readOrderSearch(query.orderId),
		// What can still be rejected, unless asked for something else.
		status: query.status === "" ? undefined : (query.status ?? "RECORDED"),
		minBasket: query.minBasket,
		...recordedBetween(query.age, deps.clock.nowMs()),
	};
	const isUnknown = query.programme !== undefined && programme === undefined;
	return answerConversionList(c, deps, {
		area: "review",
		title: "Review",
		hint: "Conversions of all programmes. Reject what should not be paid; the shop is told, with the reason.",
		list: { name: "review", path: REVIEW_PATH, query, cursorName: "after" },
		filters,
		filterFields: await filterFields(db, filters, programme),
		read: async (page) =>
			isUnknown ? { rows: [], next: null, isPartial: false } : listConversions(db, { ...filter, ...page }),
		totals: () => readTotals(deps, filter, programme),
		caption: "Conversions of all programmes",
		pageWords: ["Newest", "Older"],
		table: (rows) => tableOf(db, query, rows),
		decidePath: `${REVIEW_PATH}/reject`,
		bar: { moves: ["reject"], confirm: "Reject the selected conversions? This cannot be undone." },
		// A job is of one programme: it is made on that programme's own page.
		offersAll: false,
		empty: (isPartial) => nothingFound(query, isPartial),
		allLabel: "Show what can be rejected",
		refused,
	});
}

function recordedBetween(age: Age | undefined, nowMs: number): { fromMs?: number; beforeMs?: number } {
	if (age === undefined) return {};
	const limits = AGES[age];
	return "youngerMs" in limits ? { fromMs: nowMs - limits.youngerMs } : { beforeMs: nowMs - limits.olderMs };
}

async function tableOf(db: Db, query: ReviewQuery, rows: readonly Conversion[]): Promise<ConversionTable> {
	const programmes = await findProgrammesById(db, [...new Set(rows.map((row) => row.programme_id))]);
	const nameOf = (row: Conversion) => programmes.get(row.programme_id)?.name ?? "";
	const publicIdOf = (row: Conversion) => programmes.get(row.programme_id)?.public_id ?? "";
	const { status, basket, commission } = LIST_COLUMNS;
	// One below the other: beside the programme there is no room for both.
	const times = {
		title: "Recorded",
		cell: (row: Conversion) =>
			html`${timeTag(row.created_at_ms)}<span class="secondary">sold ${timeTag(row.occurred_at_ms)}</span>`,
	};
	const programme = {
		title: "Programme",
		cell: (row: Conversion) =>
			html`<a class="cell-clip" href="${addressWith(query, { programme: publicIdOf(row) })}" title="Only ${nameOf(row)}">${nameOf(row)}</a>`,
	};
	return {
		columns: [
			orderColumn(publicIdOf, { review: withQuery("", query) }),
			programme,
			status,
			basket,
			commission,
			times,
		],
		rowName: (row) => `order ${row.order_id} of ${nameOf(row)}`,
	};
}

async function filterFields(
	db: Db,
	{ problems, typed }: ReadFilters<ReviewQuery>,
	programme: Programme | undefined,
): Promise<Content> {
	const field = (name: keyof ReviewQuery) => ({ name, value: typed[name] ?? "", error: problems[name] });
	const newest = await listNewestProgrammes(db, PROGRAMMES_IN_MENU);
	// The one that is chosen may be older than those in the menu.
	const isListed = newest.some(({ publicId }) => publicId === programme?.public_id);
	const chosen =
		programme === undefined || isListed ? [] : [{ publicId: programme.public_id, name: programme.name }];
	const listed = [...chosen, ...newest].map(({ publicId, name }) => ({ value: publicId, label: name }));
	return [
		selectField({
			...field("programme"),
			label: "Programme",
			options: [{ value: "", label: "All" }, ...listed],
		}),
		selectField({
			...field("status"),
			label: "Status",
			value: typed["status"] ?? "RECORDED",
			options: [
				{ value: "", label: "Any" },
				...STATUSES.map((value) => ({ value, label: STATUS_WORDS[value] })),
			],
		}),
		textField({
			...field("minBasket"),
			label: "Basket at least",
			inputMode: "decimal",
			placeholder: "1000.00",
		}),
		selectField({
			...field("age"),
			label: "Recorded",
			options: [
				{ value: "", label: "Any time" },
				...AGE_NAMES.map((value) => ({ value, label: AGES[value].label })),
			],
		}),
	];
}

function nothingFound(query: ReviewQuery, isPartial: boolean): Html {
	if (isPartial) return emptyState({ title: "None found so far", text: "Look further, or change a filter." });
	if (query.status !== "" && query.orderId !== undefined) {
		const status = STATUS_WORDS[query.status ?? "RECORDED"].toLowerCase();
		return emptyState({
			title: `No ${status} conversion with this ID`,
			text: "It may have been decided already, or be of another shop than the one chosen.",
			action: linkButton({ label: "Look in every status", href: addressWith(query, { status: "" }) }),
		});
	}
	return emptyState({
		title: "Nothing to review",
		text: "No conversion matches. New ones appear here as shops report them. Remove a filter to see older decisions.",
		action: linkButton({ label: "Programmes", href: PROGRAMMES_PATH }),
	});
}
