// The page "Callbacks" of a partner. It has the same parts as a shop's Integration page: the URL, the health of callbacks,
// the signing secret, a test and the list of callbacks.

import { EVENT_NAMES, type EventName } from "#core/domain/event-name.ts";
import { refuse } from "#core/domain/fault.ts";
import { PARTNER_FIELDS } from "#core/domain/partner-event.ts";
import { ALL_EVENTS, CALLBACK_FORMS, type CallbackForm } from "#core/domain/receiver.ts";
import { removePostbackUrl, savePartnerUrl } from "#core/programmes/postback-url.ts";
import { countUndelivered } from "#core/web/conversion-ui.ts";
import { declareForm, type FormField, readTextFields } from "#core/web/form.ts";
import {
	fingerprint,
	healthPart,
	LIVE_PARTS,
	REFRESH_SECONDS,
	removedMessage,
} from "#core/web/integration/callbacks-page.ts";
import { type CalledView, readCalled } from "#core/web/integration/callbacks-view.ts";
import { calledOf, calledPagesOf } from "#core/web/integration/called.ts";
import { deliveriesSection } from "#core/web/integration/deliveries-section.ts";
import { answerTab, type FormPart, finish, queryHere } from "#core/web/integration/frame.ts";
import { prepareNext, secretSection } from "#core/web/integration/secret-section.ts";
import { actorOf, flashAt, type PageDeps, partnerOf, type WebContext, type WebDeps } from "#core/web/page.ts";
import { PARTNER_CALLBACKS_GUIDE_PATH } from "#core/web/paths.ts";
import * as ui from "#core/web/ui.ts";
import { type Html, html } from "#core/web/ui.ts";
import { sendTestCallback } from "../use-cases/test-callback.ts";

const FORM_LABELS: Readonly<Record<CallbackForm, string>> = {
	json: "POST with a JSON body",
	get: "GET with macros, for trackers",
};

/** Labels of the checkboxes. The name of a checkbox is that of its event without the prefix. */
const EVENT_LABELS: Readonly<Record<EventName, string>> = {
	"conversion.recorded": "Recorded: the shop reported a sale",
	"conversion.approved": "Approved: the commission is earned",
	"conversion.rejected": "Rejected",
	"conversion.reversed": "Reversed: returned, or credited to another partner",
};

const EVENT_BOXES = { recorded: box(0), approved: box(1), rejected: box(2), reversed: box(3) };
type EventBox = keyof typeof EVENT_BOXES;
const BOX_NAMES = Object.keys(EVENT_BOXES) as EventBox[];

function box(index: number): FormField {
	const name = EVENT_NAMES[index];
	return {
		label: name === undefined ? "" : EVENT_LABELS[name],
		isBox: true,
		alsoCalled: index === 0 ? ["events"] : [],
	};
}

const URL_FORM = declareForm({
	postbackUrl: {
		label: "Callback URL",
		hint: "Enter a public HTTPS address. It must be the final one, because we do not follow redirects.",
		placeholder: "https://tracker.example/postback?cid={sub1}&payout={commission}&status={status}",
		inputMode: "url",
		autocomplete: "off",
		isMono: true,
	},
	form: {
		label: "Form",
		options: CALLBACK_FORMS.map((value) => ({ value, label: FORM_LABELS[value] })),
	},
	...EVENT_BOXES,
});

/** Secrets that were just made. Only the response to the form that made them shows them. */
interface ShownSecrets {
	/** The first secret of the endpoint. */
	first?: string;
	/** A secret that is to replace the active one. */
	prepared?: string;
}

export async function showPartnerCallbacks(
	c: WebContext,
	deps: WebDeps,
	shown: ShownSecrets = {},
): Promise<Response> {
	const called = await calledOf(c, deps);
	// The fingerprint is read first. If data changes while the page is built, the next poll then notices it.
	const seen = called === null ? "none" : await fingerprint(deps, called.columns, null, []);
	if (c.req.header("if-none-match") === `"${seen}"`) return c.body(null, 304);
	const view = called === null ? null : await readCalled(c, deps, called);
	const { path } = calledPagesOf(c);
	const refresher = ui.refreshed("refresher", path, REFRESH_SECONDS, seen, LIVE_PARTS);
	const isLive = view?.isLive === true;
	return answerTab(c, {
		tab: "callbacks",
		hint: "We send your server or your tracker a signed callback for each status change of your sales.",
		status: view?.asked.status,
		body: [
			isLive ? html`<div id="refresher"${ui.attrs(refresher)}></div>` : null,
			shown.first === undefined ? null : madeSecret(shown.first),
			html`<div class="columns">${urlSection(c, view)}${view === null || view.url === null ? null : healthPart(view)}</div>`,
			view === null || view.url === null ? null : testSection(c, view),
			view === null ? null : deliveriesSection(view),
			await secretSection(c, deps, shown.prepared ?? null),
		],
	});
}

function madeSecret(secret: string): Html {
	return ui.message(
		"good",
		html`<div class="stack-tight" data-shown-once><p><strong>Copy the signing secret now. This page will not show it again.</strong></p><p class="small soft">Every callback is signed with it. Check the signature with the receiver library, or with your own code.</p>${ui.copyable(secret, "Signing secret")}</div>`,
	);
}

function urlSection(c: WebContext, view: CalledView | null): Html {
	const { path } = calledPagesOf(c);
	const query = queryHere(c);
	const endpoint = view?.endpoint ?? null;
	const chosen = (endpoint?.events ?? ALL_EVENTS).split(" ");
	const boxes = BOX_NAMES.map((name, index) => [name, chosen.includes(EVENT_NAMES[index] ?? "") ? "on" : ""]);
	const form = URL_FORM.show(c, {
		action: `${path}/url${query}`,
		values: {
			postbackUrl: endpoint?.url,
			form: endpoint?.form ?? "json",
			...Object.fromEntries(boxes),
		},
		send: endpoint === null ? "Save" : "Save URL",
		rows: ({ fields }) =>
			html`${fields("postbackUrl", "form")}<fieldset class="stack-tight"><legend>Events</legend>${fields(...BOX_NAMES)}</fieldset>`,
	});
	const remove = ui.buttonForm({
		action: `${path}/url/remove${query}`,
		label: "Remove URL",
		tone: "danger",
		isSmall: true,
		confirm:
			"Remove the callback URL? Status changes are then no longer sent, and pending callbacks are cancelled for good.",
	});
	const pending =
		endpoint === null || view === null
			? null
			: `Pending callbacks: ${countUndelivered(view.health.pending.count)}.`;
	return ui.section({
		id: "callback",
		title: "Status callbacks",
		hint: html`Once you save a URL, we send status changes from then on, not earlier ones. <a href="${PARTNER_CALLBACKS_GUIDE_PATH}">How to receive them</a>`,
		message: flashAt(c, "callback"),
		body: ui.padded(
			form,
			html`<div class="row-end"><p class="small soft grow" id="waiting-live">${pending}</p>${endpoint === null ? null : remove}</div>`,
			ui.more(
				"The macros of a GET callback",
				html`<p class="small soft">Put them into the query of the URL. Each is replaced with a value, percent-encoded. A value that a sale does not have is empty.</p><p>${PARTNER_FIELDS.map((field) => html`<code>{${field}}</code> `)}</p>`,
			),
		),
	});
}

function urlPart(c: WebContext): FormPart {
	return { path: calledPagesOf(c).path, part: "callback" };
}

export async function saveUrl(c: WebContext, deps: PageDeps): Promise<Response> {
	const typed = await URL_FORM.read(c);
	const form = CALLBACK_FORMS.find((known) => known === typed.form) ?? "json";
	const events = EVENT_NAMES.filter((_, index) => typed[BOX_NAMES[index] ?? "recorded"] !== "");
	const input = { url: typed.postbackUrl, form, events };
	const saved = await savePartnerUrl(deps, partnerOf(c).public_id, input, actorOf(c));
	if (!saved.ok) return URL_FORM.refuse(c, saved, () => showPartnerCallbacks(c, deps));
	// The first secret is shown in this answer, so that it is in no cookie and no address.
	if (saved.value.secret !== null) return showPartnerCallbacks(c, deps, { first: saved.value.secret });
	return finish(
		c,
		urlPart(c),
		saved,
		"The callback URL is saved. Pending callbacks, and status changes from now on, are sent there.",
	);
}

export async function removeUrl(c: WebContext, deps: PageDeps): Promise<Response> {
	const removed = await removePostbackUrl(deps, partnerOf(c).public_id, actorOf(c));
	return finish(c, urlPart(c), removed, (worked) => removedMessage("callback URL", worked));
}

function testSection(c: WebContext, { path, query }: CalledView): Html {
	const body = html`${ui.selectField({
		name: "event",
		id: "test-event",
		label: "Event",
		options: EVENT_NAMES.map((value) => ({ value, label: value })),
	})}${ui.button({ label: "Send test callback" })}`;
	return ui.section({
		id: "test",
		title: "Test callback",
		hint: "It looks like every other callback, is marked “test”, and is about no real sale. It appears in the list below.",
		message: flashAt(c, "test"),
		body: ui.padded(ui.postForm({ action: `${path}/test${query}`, className: "row-end", body })),
	});
}

export async function sendTest(c: WebContext, deps: PageDeps): Promise<Response> {
	const { event: typed } = await readTextFields(c, ["event"]);
	const event = EVENT_NAMES.find((name) => name === typed);
	const sent =
		event === undefined
			? refuse("invalid_field", "There is no such event. Choose one.", "event")
			: await sendTestCallback(deps, partnerOf(c).public_id, event, actorOf(c));
	const part: FormPart = { path: calledPagesOf(c).path, part: "test" };
	return finish(c, part, sent, "The test callback is being sent. Its result appears below.");
}

export const issueNextSecret = prepareNext((c, deps, prepared) =>
	showPartnerCallbacks(c, deps, { prepared }),
);
