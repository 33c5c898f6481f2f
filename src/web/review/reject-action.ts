// The review team rejects what it ticked, in whatever programmes it is.

import * as z from "zod";
import { type RejectedMany, rejectMany } from "../../conversions/decide-from-page.ts";
import { plainWords } from "../../domain/fault.ts";
import { deciderOf } from "../conversions/decider-of.ts";
import type { WebDeps } from "../deps.ts";
import type { WebContext } from "../env.ts";
import { setFlash } from "../flash.ts";
import { showReviewOf } from "./review-page.ts";
import { parseReviewQuery, writeReviewQuery } from "./review-query.ts";

/** As many as a page shows, and some. */
const MAX_SELECTED = 200;

const FORM = z.object({
	reason: z.string().catch(""),
	back: z.string().catch(""),
	conversion: z.union([z.string().transform((id) => [id]), z.array(z.string()).max(MAX_SELECTED)]).catch([]),
});

export async function rejectSelected(c: WebContext, deps: WebDeps): Promise<Response> {
	const form = FORM.parse(await c.req.parseBody({ all: true }));
	const wish = { conversionIds: form.conversion, reason: form.reason };
	const rejected = await rejectMany(deps, deciderOf(c), wish);
	const filters = parseReviewQuery(form.back);
	if (!rejected.ok) {
		const refused = { ticked: form.conversion, reason: form.reason, fault: rejected.fault };
		return showReviewOf(c, deps, filters, refused);
	}
	setFlash(c, rejected.value.refused.length === 0 ? "good" : "warn", describe(rejected.value));
	return c.redirect(`/review${writeReviewQuery(filters.query)}`, 303);
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
