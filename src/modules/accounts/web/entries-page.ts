// All entries in the account of a partner, for its people and for staff. Staff also add bonuses and corrections here.

import { REASONS } from "#core/domain/conversion.ts";
import { REASSIGNED } from "#core/domain/partner-event.ts";
import { listCurrencies } from "#core/store/queries/programmes.ts";
import { ask } from "#core/web/ask.ts";
import { titleCase } from "#core/web/conversion-ui.ts";
import { choice } from "#core/web/filters.ts";
import { declareForm } from "#core/web/form.ts";
import { readRows, showList } from "#core/web/list.ts";
import {
	actorOf,
	answerPage,
	leadTo,
	type PageDeps,
	partnerOf,
	viewerOf,
	type WebContext,
} from "#core/web/page.ts";
import { entriesPath, statementPath } from "#core/web/paths.ts";
import * as ui from "#core/web/ui.ts";
import { type Content, type Html, html } from "#core/web/ui.ts";
import { ENTRY_KINDS, type EntryKind } from "../domain/ledger.ts";
import { type ListedEntry, listEntries } from "../store/entries.ts";
import { adjustAccount } from "../use-cases/adjust.ts";
import { balanceStrip, statementTabs } from "./balance.ts";

const KIND_WORDS: Readonly<Record<EntryKind, string>> = {
	EARNED: "Earned",
	CHANGED: "Changed",
	ADJUSTED: "Bonus or correction",
	PAID: "Payment",
};

const FILTERS = {
	kind: choice("Kind", "All", ENTRY_KINDS, (kind) => KIND_WORDS[kind]),
};

const FORM = declareForm({
	amount: {
		label: "Amount",
		inputMode: "text",
		hint: "With a minus to take something back, such as -12.50.",
		isRequired: true,
	},
	currency: { label: "Currency", options: [], isRequired: true },
	reason: { label: "Reason", hint: "The partner reads it on the statement.", isRequired: true },
});

export async function showEntries(c: WebContext, deps: PageDeps): Promise<Response> {
	const { id: partnerId, public_id: publicId } = partnerOf(c);
	const isStaff = viewerOf(c).kind === "staff";
	const zone = c.get("network").timeZone;
	const asked = ask(c, { path: entriesPath(publicId), filters: FILTERS });
	const page = await readRows(deps, asked, `entries of partner:${partnerId}`, (at) =>
		listEntries(deps.store.reader, { partnerId, ...asked.query }, at),
	);
	const who: ui.Column<ListedEntry> = {
		title: "By",
		cell: ({ email }) => (email === null ? html`<span class="faint">—</span>` : ui.emailText(email)),
	};
	const list = showList<ListedEntry>({
		asked,
		page,
		noun: "entry",
		plural: "entries",
		caption: "Entries, the newest first",
		// The month of a statement has the entries of its days in the network's zone.
		namesZone: true,
		columns: [
			{ title: "Entry", namesRow: true, cell: whatOf },
			{ title: "Written", cell: ({ at_ms }) => ui.timeTag(at_ms, zone) },
			{ title: "Amount", isNumber: true, cell: ({ amount, currency }) => ui.amount(amount, currency) },
			{ title: "Reason", cell: reasonCell },
			{ title: "Statement", cell: (entry) => statementOf(entry, publicId) },
			...(isStaff ? [who] : []),
		],
		none: {
			title: "No entries here",
			text: `An entry is written when a sale that is credited to ${isStaff ? "the partner" : "you"} is approved.`,
		},
	});
	return answerPage(c, {
		title: "Statements",
		active: "partner-statements",
		status: asked.status,
		body: [
			ui.pageHeader({
				title: "Statements",
				hint: `Everything that changed what is owed to ${isStaff ? "the partner" : "you"}, the newest first.`,
			}),
			statementTabs(publicId, "entries"),
			await balanceStrip(c, deps, partnerId),
			html`<div class="card" id="entries"><h2 class="visually-hidden">The entries</h2>${list}</div>`,
			isStaff ? await adjustmentSection(c, deps) : null,
		],
	});
}

/** Shows the kind of an entry, with the programme and the conversion that it is about. */
function whatOf({
	kind,
	amount,
	programme_name: programme,
	conversion_public_id: conversion,
}: ListedEntry): Html {
	const isUndone = kind === "PAID" && !amount.startsWith("-");
	return html`${isUndone ? "Payment undone" : KIND_WORDS[kind]}${
		programme === null ? null : html`<span class="secondary break">${programme}</span>`
	}${conversion === null ? null : html`<span class="secondary mono break">${conversion}</span>`}`;
}

function reasonCell({ kind, reason }: ListedEntry): Content {
	return reason === null ? null : html`<span class="break">${sayReason(kind, reason)}</span>`;
}

/** Returns the text of a person as it is, and the reason code of a change in words. */
function sayReason(kind: EntryKind, reason: string): string {
	if (kind !== "CHANGED") return reason;
	if (reason === REASSIGNED) return "Partner changed";
	const code = REASONS.find((known) => known === reason);
	return code === undefined ? reason : titleCase(code);
}

function statementOf(entry: ListedEntry, partnerId: string): Content {
	const { statement_number: number, statement_public_id: publicId } = entry;
	if (number === null || publicId === null) return html`<span class="faint">The next one</span>`;
	return html`<a class="nowrap" href="${statementPath(partnerId, publicId)}">${number}</a>`;
}

async function adjustmentSection(c: WebContext, deps: PageDeps): Promise<Html> {
	const currencies = await listCurrencies(deps.store.db);
	const options = currencies.map((currency) => ({ value: currency, label: currency }));
	const form =
		currencies.length === 0
			? html`<p class="soft">Create a programme first. Its currency is offered here.</p>`
			: FORM.show(c, {
					action: entriesPath(partnerOf(c).public_id),
					looks: { currency: { options } },
					rows: ({ fields }) =>
						html`<div class="form-grid">${fields("amount", "currency")}</div>${fields("reason")}`,
					send: "Add entry",
				});
	return ui.section({
		id: "adjust",
		title: "Add a bonus or correction",
		hint: "It is part of the next statement. An entry cannot be removed, but another one with the opposite amount makes up for it.",
		body: ui.padded(form),
	});
}

export async function adjust(c: WebContext, deps: PageDeps): Promise<Response> {
	const partner = partnerOf(c);
	const added = await adjustAccount(deps, actorOf(c), partner.id, await FORM.read(c));
	if (!added.ok) return FORM.refuse(c, added, () => showEntries(c, deps));
	const { amount, currency } = added.value;
	const text = `${ui.decimal(amount)} ${currency} was added to the account of ${partner.name}.`;
	return leadTo(c, entriesPath(partner.public_id), text);
}
