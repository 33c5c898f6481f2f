// Shows the terms of a programme. On /programmes/new, staff enter the terms and the owner's email address, and get the
// link with which the owner joins. On /programmes/:id/settings, owners and staff change the terms, and everybody else
// reads them.

import {
	BASKET_RULES,
	basketSentence,
	DEFAULT_BASKET_RULE,
	describeBasketValue,
} from "../../domain/basket-rule.ts";
import { EVENT_TYPES } from "../../domain/conversion.ts";
import { ID_RANDOM_BYTES, makeId } from "../../domain/id.ts";
import { isZero, sampleAmount, shortenRate } from "../../domain/money.ts";
import { effectiveCommissions, effectiveFees } from "../../domain/rate.ts";
import { grants, type Standing } from "../../domain/roles.ts";
import { openProgramme } from "../../programmes/open-programme.ts";
import * as terms from "../../programmes/programme-terms.ts";
import { readProgrammeHistory } from "../../store/queries/programme-rates.ts";
import {
	findFirstProgramme,
	findProgramme,
	type Programme,
	ratesOf,
} from "../../store/queries/programmes.ts";
import { rateLines } from "../conversion-ui.ts";
import { declareForm, type FilledForm, HIDDEN } from "../form.ts";
import { sampleForm } from "../network/network-page.ts";
import {
	actorOf,
	answerPage,
	leadTo,
	may,
	programmeOf,
	standingOf,
	viewerOf,
	type WebContext,
	type WebDeps,
} from "../page.ts";
import {
	AUDIT_PATH,
	CREATE_PROGRAMME_PATH,
	integrationPath,
	PROGRAMMES_PATH,
	peoplePath,
	programmePartnersPath,
	settingsPath,
	withQuery,
} from "../paths.ts";
import { showPeople } from "../people/people-page.ts";
import { rateHistorySection } from "../rate-history.ts";
import * as ui from "../ui.ts";
import { type Content, type Html, html } from "../ui.ts";
import { archivedMessage, archiveSection } from "./archive-page.ts";

/** Terms as they were typed. The use case validates them. */
type TypedTerms = Readonly<Partial<Record<keyof terms.Terms, string>>>;

const RATE = { inputMode: "decimal", hint: "Of the basket value.", isRequired: true } as const;

/**
 * Form with the terms. Optional and folded fields are not marked as required, because browsers would refuse to send
 * the form while these are empty. The use case checks all fields.
 */
const TERMS_FORM = declareForm({
	/**
	 * Public id of the new programme. It is chosen when the form is opened, so that sending the form twice
	 * makes one programme.
	 */
	programmeId: HIDDEN,
	/** Terms as they were when the form was opened. Only fields that differ from these are saved. */
	shown: HIDDEN,
	name: { label: "Name", isRequired: true },
	email: {
		label: "Owner's email (optional)",
		type: "email",
		autocomplete: "off",
		hint: "A person of the shop: staff cannot own a programme. Leave empty to invite them later under People.",
	},
	currency: { label: "Currency", hint: "It cannot be changed later.", isRequired: true },
	commissionRate: { label: "Commission, %", alsoCalled: ["commission"], ...RATE },
	commissionFixed: {
		label: "Fixed commission (optional)",
		inputMode: "decimal",
		hint: "Added for each conversion, in the programme's currency.",
	},
	feeRate: { label: "Network fee, %", alsoCalled: ["fee"], ...RATE },
	feeFixed: {
		label: "Fixed network fee (optional)",
		inputMode: "decimal",
		hint: "Added for each conversion, in the programme's currency.",
	},
	eventRates: {
		label: "Other rates for some event types (optional)",
		rows: 3,
		isMono: true,
	},
	approvalDays: {
		label: "Approval window, days",
		inputMode: "numeric",
		hint: "Days until a conversion is approved automatically. 0 approves at once.",
	},
	approvalDaysMin: { label: "Shortest window owners may set, days", inputMode: "numeric" },
	approvalDaysMax: { label: "Longest window owners may set, days", inputMode: "numeric" },
	parksPixels: { label: "Park pixel conversions until the shop's server confirms them", isBox: true },
	parkedDays: {
		label: "Parked for at most, days",
		inputMode: "numeric",
		hint: "A parked conversion expires if the shop's server does not confirm it in this time.",
		alsoCalled: ["parksPixels"],
	},
	basketRule: {
		label: "The basket value of a sale is",
		options: BASKET_RULES.map((rule) => ({ value: rule, label: basketSentence(rule) })),
		hint: "Shops read this on Integration and get it from the API. Commission and network fee are computed from this value.",
	},
	basketNote: {
		label: "Note on the basket value (optional)",
		hint: "Shops read it after the sentence that you chose.",
		placeholder: "Gift cards do not count.",
	},
});

function eventRatesHint(currency: string): string {
	const amount = `${sampleAmount(currency)} ${currency}`;
	return `One a line, with commission and fee, such as “LEAD: ${amount}, fee 0” or “RENEWAL: 4 % + ${amount}, fee 2 %”. They replace the general rates for that event type, also for partners who have a general commission of their own: ${EVENT_TYPES.join(", ")}.`;
}

function readTerms(typed: TypedTerms): terms.TermsInput & { parkedDays: number } {
	const { name = "", commissionRate = "", feeRate = "", parksPixels = "" } = typed;
	const { commissionFixed = "", feeFixed = "", eventRates = "" } = typed;
	const { approvalDaysMin = "", approvalDaysMax = "" } = typed;
	return {
		...readBasketTerms(typed),
		name,
		commissionRate: commissionRate.trim(),
		commissionFixed: commissionFixed.trim(),
		feeRate: feeRate.trim(),
		feeFixed: feeFixed.trim(),
		eventRates,
		approvalDays: readDays(typed.approvalDays),
		...(approvalDaysMin === "" ? {} : { approvalDaysMin: readDays(approvalDaysMin) }),
		...(approvalDaysMax === "" ? {} : { approvalDaysMax: readDays(approvalDaysMax) }),
		parksPixels: parksPixels !== "",
		parkedDays: readDays(typed.parkedDays),
	};
}

/** Reads the rule for the basket value. A form without the field keeps the rule as it is. */
function readBasketTerms({ basketRule = "", basketNote = "" }: TypedTerms): Partial<terms.TermsInput> {
	return { ...(basketRule === "" ? {} : { basketRule }), basketNote };
}

/**
 * Parses a number of days. Returns NaN for anything but digits, which the use case refuses with the right
 * message.
 */
function readDays(text = ""): number {
	return /^\d{1,6}$/.test(text.trim()) ? Number(text) : Number.NaN;
}

function writeTerms(agreed: terms.Terms): Record<keyof terms.Terms, string> {
	return {
		name: agreed.name,
		commissionRate: shortenRate(agreed.commissionRate),
		commissionFixed: writeFixed(agreed.commissionFixed),
		feeRate: shortenRate(agreed.feeRate),
		feeFixed: writeFixed(agreed.feeFixed),
		eventRates: agreed.eventRates,
		approvalDays: String(agreed.approvalDays),
		approvalDaysMin: String(agreed.approvalDaysMin),
		approvalDaysMax: String(agreed.approvalDaysMax),
		parksPixels: agreed.parksPixels ? "on" : "",
		parkedDays: String(agreed.parkedDays),
		basketRule: agreed.basketRule,
		basketNote: agreed.basketNote,
	};
}

/** Returns the value of a field for a fixed amount. Empty if the amount is zero. */
function writeFixed(amount: string): string {
	return isZero(amount) ? "" : amount;
}

/** Shows the general rates, and below them the rates for single event types. */
function rateRows({ fields }: Pick<FilledForm<keyof terms.Terms>, "fields">): Content {
	return html`<div class="form-grid">${fields("commissionRate", "commissionFixed")}</div><div class="form-grid">${fields("feeRate", "feeFixed")}</div>${fields("eventRates")}`;
}

/** Sentence about unconfirmed pixel sales, shown wherever people decide about parking or read about it. */
const PIXEL_WORTH =
	"Anyone can call the pixel: its address is in the shop's page, so a pixel call by itself proves nothing.";

/**
 * Shows all terms except the name, the currency and the rates: the approval window, and the parking of pixel
 * conversions.
 */
function windowAndPixelRows({ fields }: Pick<FilledForm<keyof terms.Terms>, "fields">): Content {
	return html`<div class="form-grid">${fields("approvalDays", "approvalDaysMin", "approvalDaysMax")}</div>${fields("parksPixels")}<p class="small soft">${PIXEL_WORTH} Keep parking on (recommended): the conversion then counts only after the shop's server has confirmed the order. Without parking, every pixel call is recorded as a sale. It is never approved automatically unless the shop's server confirms the order: review and approve the others by hand.</p><div class="form-grid">${fields("parkedDays")}</div>`;
}

/**
 * Shows the rule for the basket value over the whole width, because its sentences are long. The page "From order to
 * money" explains it to shops.
 */
function basketRows({ fields }: Pick<FilledForm<keyof terms.Terms>, "fields">): Content {
	return fields("basketRule", "basketNote");
}

/** Fields in the folded part of the form, which is open only if one of them has a fault. */
const FOLDED = ["approvalDays", "approvalDaysMin", "approvalDaysMax", "parkedDays"] as const;
const FIXED_RATES = ["commissionFixed", "feeFixed", "eventRates"] as const;

const DEFAULT_CURRENCY = "EUR";

export async function showCreateForm(c: WebContext, { store, clock, random }: WebDeps): Promise<Response> {
	const isFirst = (await findFirstProgramme(store.db)) === undefined;
	const title = "Create programme";
	const form = TERMS_FORM.show(c, {
		action: CREATE_PROGRAMME_PATH,
		values: {
			programmeId: makeId("prg", clock.nowMs(), random.bytes(ID_RANDOM_BYTES)),
			currency: DEFAULT_CURRENCY,
			approvalDays: String(terms.DEFAULT_APPROVAL_DAYS),
			approvalDaysMin: String(terms.DEFAULT_APPROVAL_LIMITS.min),
			approvalDaysMax: String(terms.DEFAULT_APPROVAL_LIMITS.max),
			parksPixels: "on",
			parkedDays: String(terms.DEFAULT_PARKED_DAYS),
			basketRule: DEFAULT_BASKET_RULE,
		},
		looks: { eventRates: { hint: eventRatesHint(DEFAULT_CURRENCY) } },
		rows: ({ fields, isWrong }) => html`${fields("programmeId")}
	<div class="form-grid">${fields("name", "email")}</div>
	<div class="form-grid">${fields("currency", "commissionRate", "feeRate")}</div>
	${basketRows({ fields })}
	${ui.foldable(
		"Fixed amounts, and other rates for leads and other event types",
		FIXED_RATES.some(isWrong),
		html`<div class="stack"><div class="form-grid">${fields("commissionFixed", "feeFixed")}</div>${fields("eventRates")}</div>`,
	)}
	${ui.foldable(
		`Approved automatically after ${terms.DEFAULT_APPROVAL_DAYS} days. Pixel sales wait for the shop's server to confirm them.`,
		FOLDED.some(isWrong),
		html`<div class="stack">${windowAndPixelRows({ fields })}</div>`,
	)}`,
		send: html`<div class="row">${ui.button({ label: title, tone: "primary" })}${ui.linkButton({ label: "Cancel", href: PROGRAMMES_PATH, tone: "quiet" })}</div>`,
	});
	return answerPage(c, {
		title,
		active: "programmes",
		body: html`${ui.pageHeader({ title, actions: isFirst ? sampleForm(c) : null })}${ui.section({
			id: "terms",
			title: "A shop's agreement with you",
			body: ui.padded(form),
		})}`,
	});
}

export async function createProgramme(c: WebContext, deps: WebDeps): Promise<Response> {
	const typed = await TERMS_FORM.read(c);
	const publicId = /^prg_[0-9A-Z]{26}$/.exec(typed.programmeId)?.[0];
	if (publicId !== undefined && (await findProgramme(deps.store.db, publicId)) !== undefined) {
		const text = "This programme was created already. You can create a new link for its owner here.";
		return leadTo(c, peoplePath(publicId), text, "info");
	}
	const opened = await openProgramme(
		deps,
		{ ...deps, kind: "invited", actor: actorOf(c) },
		{
			...readTerms(typed),
			publicId,
			currency: typed.currency.trim(),
			ownerEmail: typed.email.trim() === "" ? null : typed.email.trim(),
		},
	);
	if (!opened.ok) return TERMS_FORM.refuse(c, opened, () => showCreateForm(c, deps));
	const { programme, owner } = opened.value;
	const text = `${programme.name} is created.`;
	if (owner === null) return leadTo(c, integrationPath(programme.public_id), text);
	// The response is the page of people and not a redirect, because it contains the owner's link, which is shown only
	// once.
	c.set("programme", programme);
	c.set("standing", "staff");
	c.set("flash", { tone: "good", text });
	return showPeople(c, deps, owner);
}

export async function showSettings(c: WebContext, deps: WebDeps): Promise<Response> {
	const programme = programmeOf(c);
	const isStaff = viewerOf(c).kind === "staff";
	const audit = withQuery(AUDIT_PATH, { programme: programme.public_id });
	return answerPage(c, {
		title: "Settings",
		active: "settings",
		body: [
			ui.pageHeader({
				title: "Settings",
				hint: "These terms apply to new conversions of this programme.",
				actions: isStaff ? ui.linkButton({ label: "Who did what", href: audit }) : null,
			}),
			isStaff ? null : archivedMessage(programme),
			may(c, "manage")
				? ui.section({
						id: "terms",
						title: "Terms",
						hint: "Changes apply to conversions that come in from now on. Existing conversions keep their amounts and dates.",
						body: ui.padded(isStaff ? staffForm(c, programme) : ownerForm(c, programme)),
					})
				: null,
			ui.section({
				id: "about",
				title: "About this programme",
				body: ui.padded(fixedFacts(programme, standingOf(c))),
			}),
			may(c, "manage") ? await rateHistory(deps, programme) : null,
			isStaff ? archiveSection(programme) : null,
		],
	});
}

/**
 * Saves the terms. An owner's form has only a few of the fields, and any other field that an owner sends is ignored.
 */
export async function saveSettings(c: WebContext, deps: WebDeps): Promise<Response> {
	const programme = programmeOf(c);
	const viewer = viewerOf(c);
	const typed = await TERMS_FORM.read(c);
	const shown: TypedTerms = Object.fromEntries(new URLSearchParams(typed.shown));
	const wanted: Partial<terms.TermsInput> =
		viewer.kind === "staff"
			? readTerms(typed)
			: { name: typed.name, approvalDays: readDays(typed.approvalDays), ...readBasketTerms(typed) };
	const opened = typed.shown === "" ? {} : readTerms(shown);
	const changed = await terms.changeProgramme(deps, actorOf(c), programme.id, wanted, opened);
	if (!changed.ok) {
		// If another person saved first, the form shows that person's values.
		const isOvertaken = changed.faults.some(({ code }) => code === "changed_meanwhile");
		return TERMS_FORM.refuse(c, changed, () => showSettings(c, deps), isOvertaken ? {} : undefined);
	}
	const path = settingsPath(programme.public_id);
	if (changed.value.length === 0) return leadTo(c, path, "Nothing was changed.", "info");
	return leadTo(c, path, "Saved.");
}

function formOf(programme: Programme) {
	const values = writeTerms(terms.termsOf(programme));
	return {
		action: settingsPath(programme.public_id),
		values: { ...values, shown: String(new URLSearchParams(values)) },
		send: "Save",
	};
}

function staffForm(c: WebContext, programme: Programme): Html {
	return TERMS_FORM.show(c, {
		...formOf(programme),
		looks: { eventRates: { hint: eventRatesHint(programme.currency) } },
		rows: ({ fields }) =>
			html`${fields("shown", "name")}${rateRows({ fields })}${basketRows({ fields })}${windowAndPixelRows({ fields })}`,
	});
}

function ownerForm(c: WebContext, programme: Programme): Html {
	const { approval_days_min: least, approval_days_max: most } = programme;
	return TERMS_FORM.show(c, {
		...formOf(programme),
		shown: ["shown", "name", "approvalDays", "basketRule", "basketNote"],
		looks: {
			name: { hint: "Your people and the network's staff see this name everywhere." },
			approvalDays: {
				hint: `Days until a conversion is approved automatically, from ${least} to ${ui.count(most)}. The network sets these limits.`,
			},
		},
		rows: ({ fields }) =>
			html`${fields("shown")}<div class="form-grid">${fields("name", "approvalDays")}</div>${basketRows({ fields })}`,
	});
}

async function rateHistory({ store }: WebDeps, programme: Programme): Promise<Content> {
	const { currency } = programme;
	return rateHistorySection({
		history: await readProgrammeHistory(store.db, programme),
		createdAtMs: programme.created_at_ms,
		columns: [
			{ title: "Commission", cell: (rates) => rateLines(effectiveCommissions(rates, null), currency) },
			{ title: "Network fee", cell: (rates) => rateLines(effectiveFees(rates), currency) },
		],
	});
}

function fixedFacts(programme: Programme, standing: Standing): Html {
	const facts: readonly (readonly [string, Content])[] = [
		["Programme ID", ui.copyable(programme.public_id, "the programme's ID")],
		["Currency", programme.currency],
		["Since", ui.dayTag(programme.created_at_ms)],
	];
	if (standing === "staff") return ui.facts(facts);
	const days = ui.countOf(programme.approval_days, "day");
	const rates = ratesOf(programme);
	const partners = html`<a href="${programmePartnersPath(programme.public_id)}">Partners</a>`;
	return html`${ui.facts([
		...facts,
		...(grants(standing, "manage") ? [] : [["Approval window", days] as const]),
		...(grants(standing, "manage")
			? []
			: [["Basket value", describeBasketValue(programme.basket_rule, programme.basket_note)] as const]),
		["Commission", rateLines(effectiveCommissions(rates, null), programme.currency)],
		["Network fee", rateLines(effectiveFees(rates), programme.currency)],
		[
			"Pixels",
			programme.parks_pixels === 1
				? `parked until your server confirms them, for at most ${ui.countOf(programme.parked_days, "day")}`
				: html`recorded at once, without your server's confirmation. ${PIXEL_WORTH} Conversions that your server does not confirm wait for you to approve or reject them.`,
		],
	])}${
		programme.credits_partners === 0
			? null
			: html`<p class="small soft">For partners with a rate of their own, see ${partners}. A sale that no partner brought has no commission and no network fee.</p>`
	}<p class="small soft">Rates and the handling of pixels are agreed with the network: ask its staff to change them.</p>`;
}
