// The page /programmes/:id/partners/:id. It shows one partner of a programme, with its rate, coupon codes and
// links. Owners and staff change them, and end or resume the partnership.

import { EVENT_TYPES } from "#core/domain/conversion.ts";
import { isZero, sampleAmount, shortenRate } from "#core/domain/money.ts";
import { effectiveCommissions, type PartnershipRates } from "#core/domain/rate.ts";
import { describeRates, sayByType, sayRate } from "#core/domain/rate-words.ts";
import { type Programme, ratesOf } from "#core/store/queries/programmes.ts";
import { answerError } from "#core/web/error-page.ts";
import { declareForm, HIDDEN, readTextFields } from "#core/web/form.ts";
import type { WebContext, WebDeps } from "#core/web/page.ts";
import * as page from "#core/web/page.ts";
import * as paths from "#core/web/paths.ts";
import type { Answer } from "#core/web/routes.ts";
import * as ui from "#core/web/ui.ts";
import { type Content, html } from "#core/web/ui.ts";
import { listCodes } from "../store/coupon-codes.ts";
import { type ClickOrders, commissionsOf, findClicksWithOrders, SALES_COMPARED } from "../store/credits.ts";
import { findPartnerLink } from "../store/partner-links.ts";
import { findPartnership, type NamedPartnership } from "../store/partnerships.ts";
import {
	changeState,
	type PartnershipAddress,
	readTypedCommission,
	savePartnership,
} from "../use-cases/partnerships.ts";
import { commissionHistory, commissionSection, describeChange } from "./commission-section.ts";
import { partnershipPath, rateOf, stateOf } from "./earned-section.ts";
import { endSection } from "./end-section.ts";
import { linkSection } from "./link-section.ts";
import { nextStep } from "./programme-partners-page.ts";

const FORM = declareForm({
	/** Values with which the form was opened. Only fields that differ from them are saved. */
	shown: HIDDEN,
	rate: { label: "Commission, %", inputMode: "decimal" },
	fixed: {
		label: "Fixed commission",
		inputMode: "decimal",
		hint: "Added for each conversion. Without a percentage it is the whole commission.",
	},
	eventRates: { label: "Other commissions for some event types (optional)", rows: 3, isMono: true },
	codes: {
		label: "Coupon codes",
		rows: 3,
		isMono: true,
		hint: "One a line. A sale with one of them is credited to this partner. Upper and lower case are the same.",
	},
});

/**
 * Finds the partnership in the address and passes it to the action. If it belongs to another programme, the
 * response is 404.
 */
function withPartnership(
	verb: (c: WebContext, deps: WebDeps, partnership: NamedPartnership) => Promise<Response>,
): Answer {
	return async (c, deps) => {
		const partnership = await findPartnership(deps.store.db, c.req.param("partnershipId") ?? "");
		return partnership?.programme_id === page.programmeOf(c).id
			? verb(c, deps, partnership)
			: answerError(c, "not_found");
	};
}

const SAVE = { label: "Save", tone: "primary" } as const;
/** Button that shows what the typed commission leads to, and saves nothing. */
const PREVIEW = { label: "Show what it earns", name: "preview", value: "yes" } as const;

const END = {
	label: "End partnership",
	tone: "danger",
	hidden: { to: "ended" },
	confirm:
		"End the partnership? The links then lead to the shop without a click ID, and the coupon codes credit nobody. The partner keeps what was earned, and sales from clicks made before are still credited. You can resume it later.",
} as const;
const STAFF_END = "End the partnership? The partner keeps what was earned. You can resume it later.";
/** Button for staff on a partnership that has ended, if sales from its earlier clicks are still credited. */
const END_CLICKS = {
	label: "Credit no more clicks",
	tone: "danger",
	hidden: { to: "ended", clicks: "on" },
	confirm:
		"Credit no more sales from clicks that were made before? Sales that are recorded already stay as they are. This cannot be undone: clicks that are made after a resumption count again, earlier ones do not.",
} as const;
const RESUME = {
	label: "Resume partnership",
	hidden: { to: "active" },
	confirm:
		"Resume the partnership? Links bring a click ID again, and coupon codes credit the partner. Sales in between stay as they are.",
} as const;

export const showPartnership = withPartnership((c, deps, partnership) =>
	renderPartnership(c, deps, partnership),
);

/** Commission that staff have typed, and look at in a preview before they save it. */
interface Preview {
	typed: Record<"shown" | keyof ReturnType<typeof rateValues> | "codes", string>;
	rates: PartnershipRates;
}

async function renderPartnership(
	c: WebContext,
	deps: WebDeps,
	partnership: NamedPartnership,
	preview?: Preview,
): Promise<Response> {
	const { programme_public_id: programmeId, partner_public_id: partner } = partnership;
	const { programme_currency: currency, partner_name: name } = partnership;
	const programme = page.programmeOf(c);
	const isStaff = page.standingOf(c) === "staff";
	const commissions = commissionSection(
		currency,
		ratesOf(programme),
		commissionsOf(partnership, currency),
		preview?.rates,
	);
	const agreed = await agreedSection(c, deps, partnership, preview);
	const next = await nextStep(c, deps, programme);
	const ofPartner = html` · <a href="${paths.earningsPath(partner)}">All programmes of ${name}</a>`;
	return page.answerPage(c, {
		title: name,
		active: "programme-partners",
		body: [
			ui.pageHeader({
				title: name,
				hint: html`<a href="${paths.programmePartnersPath(programmeId)}">All partners of ${partnership.programme_name}</a>${isStaff ? ofPartner : null}`,
				actions: stateButtons(c, partnership),
			}),
			isStaff && partnership.partner_archived_at_ms !== null
				? ui.message(
						"info",
						html`The network archived this partner, so the partnership cannot be resumed. <a href="${paths.earningsPath(partner)}">Resume the partner</a> first.`,
					)
				: null,
			next === null ? null : ui.message("warn", next),
			// The table that staff have asked for comes first, because the form is longer than a screen.
			...(preview === undefined ? [agreed, commissions] : [commissions, agreed]),
			page.may(c, "manage") ? await commissionHistory(deps, programme, partnership) : null,
			await linkSection(c, deps, partnershipPath(partnership), [partnership]),
			await clickSection(deps, partnership),
			isStaff && partnership.ended_at_ms === null
				? endSection(`${partnershipPath(partnership)}/change`, { ...END, confirm: STAFF_END })
				: null,
		],
	});
}

/** Returns the buttons that end or resume the partnership. Staff end it at the bottom of the page. */
function stateButtons(c: WebContext, partnership: NamedPartnership): Content {
	const { ended_at_ms: endedAtMs, partner_public_id: partner } = partnership;
	const isArchived = partnership.partner_archived_at_ms !== null;
	const sales = paths.withQuery(paths.conversionsPath(partnership.programme_public_id), { partner });
	const button = (look: typeof END | typeof RESUME | typeof END_CLICKS) =>
		ui.buttonForm({ ...look, action: `${partnershipPath(partnership)}/change` });
	const conversions = ui.linkButton({ label: "Conversions", href: sales });
	if (page.standingOf(c) === "staff") {
		if (endedAtMs === null) return conversions;
		return [
			conversions,
			partnership.clicks_ended_at_ms === null ? button(END_CLICKS) : null,
			isArchived ? null : button(RESUME),
		];
	}
	if (!page.may(c, "manage") || partnership.ended_by_staff === 1) return conversions;
	return [conversions, button(endedAtMs === null ? END : RESUME)];
}

/**
 * Shows the agreed commission and coupon codes. People who manage the programme have a form for them, in
 * which only staff see the commission.
 */
async function agreedSection(
	c: WebContext,
	{ store }: WebDeps,
	partnership: NamedPartnership,
	preview: Preview | undefined,
): Promise<Content> {
	const isStaff = page.standingOf(c) === "staff";
	const isManager = page.may(c, "manage");
	const codes = (await listCodes(store.db, [partnership.id])).map(({ code }) => code);
	const { terms } = partnership;
	const facts = ui.facts([
		["State", stateOf(partnership, c.get("network").timeZone)],
		["Commission", rateOf(partnership)],
		["Terms when it began", terms === "" ? "none" : html`<span class="typed">${terms}</span>`],
		...(isManager ? [] : [["Coupon codes", codes.join(", ") || "none"] as const]),
	]);
	const values = { ...rateValues(partnership), codes: codes.join("\n") };
	const form = () =>
		FORM.show(c, {
			action: partnershipPath(partnership),
			shown: isStaff ? ["shown", "rate", "fixed", "eventRates", "codes"] : ["shown", "codes"],
			values: preview?.typed ?? { ...values, shown: String(new URLSearchParams(values)) },
			looks: rateLooks(page.programmeOf(c)),
			rows: ({ fields }) =>
				isStaff
					? html`${fields("shown")}<div class="form-grid">${fields("rate", "fixed")}</div>${fields("eventRates", "codes")}`
					: fields(),
			send: isStaff ? html`<div class="row">${ui.button(SAVE)}${ui.button(PREVIEW)}</div>` : SAVE.label,
		});
	return ui.section({
		id: "agreed",
		title: "Partnership",
		body: ui.padded(facts, isManager ? form() : null),
	});
}

/** Returns the partnership's own commission as its form shows it. */
function rateValues(partnership: NamedPartnership) {
	const { programme_currency: currency } = partnership;
	const { commission, byType } = commissionsOf(partnership, currency);
	return {
		rate: commission === null ? "" : shortenRate(commission.percent),
		fixed: commission === null || isZero(commission.fixed) ? "" : commission.fixed,
		eventRates: sayByType(byType, (rate) => sayRate(rate, currency)),
	};
}

function rateLooks(programme: Programme) {
	const { currency } = programme;
	const usual = describeRates(effectiveCommissions(ratesOf(programme), null), currency, ui.decimal);
	const amount = `${sampleAmount(currency)} ${currency}`;
	return {
		rate: {
			hint: `It takes the place of the programme's general commission. Leave both fields empty to use that one. The programme's commission: ${usual.join("; ")}. Changes apply to sales recorded from now on.`,
		},
		eventRates: {
			hint: `One a line, such as “LEAD: ${amount}” or “RENEWAL: 4 % + ${amount}”. Event types that are not named here have the programme's commission for them, if it has one, and otherwise the general one above. Event types: ${EVENT_TYPES.join(", ")}.`,
		},
	};
}

/**
 * Minimum number of orders with which a click is listed. Fewer are normal, because a buyer may order twice
 * and a family may share a click.
 */
const MIN_ORDERS = 3;
const CLICKS_LISTED = 20;

/**
 * Lists the clicks that have many orders, or returns nothing if there are none. This reveals a click ID that
 * was given to many buyers.
 */
async function clickSection(
	{ store }: WebDeps,
	{ id, programme_public_id: programmeId, partner_public_id: partner }: NamedPartnership,
): Promise<Content> {
	const limits = { minOrders: MIN_ORDERS, limit: CLICKS_LISTED };
	const clicks = await findClicksWithOrders(store.reader, id, limits);
	if (clicks.length === 0) return null;
	const links = new Map<number, string>();
	for (const { link_id } of clicks) {
		links.set(link_id, (await findPartnerLink(store.reader, "id", link_id))?.code ?? "");
	}
	const sales = paths.withQuery(paths.conversionsPath(programmeId), { partner });
	return ui.section({
		id: "clicks",
		title: "Clicks with several orders",
		hint: html`Among the newest ${ui.count(SALES_COMPARED)} sales of this partner. One click with many orders can mean that its click ID was given to other buyers. <a href="${sales}">Look at the conversions</a>`,
		body: ui.dataTable<ClickOrders>({
			caption: "Clicks with several orders, most orders first",
			rows: clicks,
			stacks: true,
			empty: null,
			columns: [
				{ title: "Link", namesRow: true, cell: ({ link_id }) => html`<code>${links.get(link_id)}</code>` },
				{ title: "Clicked", cell: ({ clicked_at_ms }) => ui.timeTag(clicked_at_ms) },
				{ title: "Orders", isNumber: true, cell: ({ orders }) => ui.count(orders) },
				{ title: "Last order", cell: ({ last_sold_at_ms }) => ui.timeTag(last_sold_at_ms) },
			],
		}),
	});
}

/**
 * Shows the page again after a refusal. It reads the partnership again, because another person may have
 * changed it meanwhile.
 */
async function showAgain(c: WebContext, deps: WebDeps, { publicId }: PartnershipAddress): Promise<Response> {
	const now = await findPartnership(deps.store.db, publicId);
	return now === undefined ? answerError(c, "not_found") : renderPartnership(c, deps, now);
}

function addressOf(partnership: NamedPartnership): PartnershipAddress {
	return { programmeId: partnership.programme_id, publicId: partnership.public_id };
}

export const save = withPartnership(async (c, deps, partnership) => {
	const typed = await FORM.read(c);
	const {
		rate = "",
		fixed = "",
		eventRates = "",
		codes = "",
	} = Object.fromEntries(new URLSearchParams(typed.shown));
	const shown = typed.shown === "" ? undefined : { rate, fixed, eventRates, codes };
	const address = addressOf(partnership);
	const { programme_currency: currency } = partnership;
	const isPreview = (await readTextFields(c, ["preview"])).preview !== "";
	if (isPreview && page.standingOf(c) === "staff") {
		const rates = readTypedCommission(typed, currency);
		if (!rates.ok) return FORM.refuse(c, rates, () => showAgain(c, deps, address));
		return renderPartnership(c, deps, partnership, { typed, rates: rates.value });
	}
	const saved = await savePartnership(deps, page.actorOf(c), address, typed, shown);
	if (saved.ok) {
		const now = (await findPartnership(deps.store.db, address.publicId)) ?? partnership;
		const [before, after] = [commissionsOf(partnership, currency), commissionsOf(now, currency)];
		const change = describeChange(currency, ratesOf(page.programmeOf(c)), before, after);
		return page.leadTo(c, partnershipPath(partnership), `Saved. ${change}`.trim());
	}
	const isOvertaken = saved.fault.code === "changed_meanwhile";
	return FORM.refuse(c, saved, () => showAgain(c, deps, address), isOvertaken ? {} : undefined);
});

export const change = withPartnership(async (c, deps, partnership) => {
	const typed = await readTextFields(c, ["to", "clicks"]);
	const to = typed.to === "ended" ? "ended" : "active";
	const address = addressOf(partnership);
	const changed = await changeState(deps, page.actorOf(c), address, to, typed.clicks !== "");
	if (!changed.ok) return page.tellRefusal(c, changed, () => showAgain(c, deps, address));
	const text = to === "ended" ? "The partnership has ended." : "The partnership is active again.";
	return page.leadTo(c, partnershipPath(partnership), text);
});
