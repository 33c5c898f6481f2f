// The page "Callbacks" of a partner. It has the same parts as a shop's Integration page: the URL, the health of callbacks,
// the signing secret, a test and the list of callbacks.

import { EVENT_NAMES, type EventName } from "../../domain/event-name.ts";
import { refuse } from "../../domain/fault.ts";
import { PARTNER_FIELDS } from "../../domain/partner-event.ts";
import { ALL_EVENTS, CALLBACK_FORMS, type CallbackForm } from "../../domain/receiver.ts";
import { listenWithoutUrl, removePostbackUrl, savePartnerUrl } from "../../programmes/postback-url.ts";
import { sendTestCallback } from "../../programmes/test-callback.ts";
import { listNewestAnswers } from "../../store/queries/local-answers.ts";
import { findPartnerReceiver, isListenOnly } from "../../store/queries/receivers.ts";
import { countUndelivered } from "../conversion-ui.ts";
import { declareForm, type FormField, readTextFields } from "../form.ts";
import {
	fingerprint,
	healthPart,
	LIVE_PARTS,
	REFRESH_SECONDS,
	removedMessage,
} from "../integration/callbacks-page.ts";
import { type CalledView, isListened, readCalled } from "../integration/callbacks-view.ts";
import { calledOf, calledPagesOf } from "../integration/called.ts";
import { deliveriesSection } from "../integration/deliveries-section.ts";
import { answerTab, type FormPart, finish, queryHere } from "../integration/frame.ts";
import { prepareNext, secretSection } from "../integration/secret-section.ts";
import { localAnswersTable } from "../integration/test-section.ts";
import { partnerListenCommand } from "../listen-command.ts";
import { actorOf, flashAt, type PageDeps, partnerOf, type WebContext, type WebDeps } from "../page.ts";
import { PARTNER_DOCS_PATH, partnerApiPath } from "../paths.ts";
import * as ui from "../ui.ts";
import { type Content, type Html, html } from "../ui.ts";

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
	/** The first secret. */
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
	const isListening = called !== null && (await isListened(deps, called.columns));
	// The fingerprint is read first. If data changes while the page is built, the next poll then notices it.
	const seen = called === null ? "none" : await fingerprint(deps, called.columns, null, [isListening]);
	if (c.req.header("if-none-match") === `"${seen}"`) return c.body(null, 304);
	const view = called === null ? null : await readCalled(c, deps, called);
	const { path } = calledPagesOf(c);
	const refresher = ui.refreshed("refresher", path, REFRESH_SECONDS, seen, [...LIVE_PARTS, "answers-live"]);
	const isLive = view?.isLive === true;
	return answerTab(c, {
		tab: "callbacks",
		hint: "We send your server or your tracker a signed callback for each status change of your sales.",
		status: view !== null && view.deliveries === null ? 422 : undefined,
		body: [
			isLive ? html`<div id="refresher"${ui.attrs(refresher)}></div>` : null,
			shown.first === undefined ? null : madeSecret(shown.first),
			html`<div class="columns">${urlSection(c, view)}${view === null || view.url === null ? null : healthPart(view)}</div>`,
			...(view === null
				? []
				: await partsOfReceiver(c, deps, view, { isListening, firstSecret: shown.first })),
			await secretSection(c, deps, shown.prepared ?? null),
		],
	});
}

/** Returns the parts of the page that a partner sees once it is a receiver. */
async function partsOfReceiver(
	c: WebContext,
	deps: WebDeps,
	view: CalledView,
	{ isListening, firstSecret }: { isListening: boolean; firstSecret: string | undefined },
): Promise<Content[]> {
	const { receiver_id: receiverId } = view.called.columns;
	const listenOnly = await isListenOnly(deps.store.db, receiverId);
	const canTest = listenOnly || view.url !== null;
	return [
		canTest ? await listenSection(deps, view, { listenOnly, isListening, firstSecret }) : null,
		canTest ? testSection(c, view, listenOnly) : null,
		// Without a URL all callbacks are cancelled. The section about listening shows what came of the events.
		listenOnly ? null : deliveriesSection(view),
	];
}

function madeSecret(secret: string): Html {
	return ui.message(
		"good",
		html`<div class="stack-tight" data-shown-once><p><strong>Copy the signing secret now. This page will not show it again.</strong></p><p class="small soft">Every callback is signed with it. Check the signature with the receiver library, or with your own code.</p>${ui.copyable(secret, "Signing secret")}</div>`,
	);
}

// The section with the callback URL.

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
	const pending = endpoint === null || view === null ? null : pendingSentence(view);
	return ui.section({
		id: "callback",
		title: "Status callbacks",
		hint: html`Once you save a URL, we send status changes from then on, not earlier ones. <a href="${PARTNER_DOCS_PATH}#callbacks-to-partners">How to receive them</a>`,
		message: flashAt(c, "callback"),
		body: ui.padded(
			form,
			html`<div class="row-end"><p class="small soft grow" id="waiting-live">${pending}</p>${endpoint === null ? null : remove}</div>`,
			endpoint === null && (view === null || !(view.hasSecret && view.called.columns.endpoint_id !== null))
				? noAddressForm(path, query)
				: null,
			ui.more(
				"The macros of a GET callback",
				html`<p class="small soft">Put them into the query of the URL. Each is replaced with a value, percent-encoded. A value that a sale does not have is empty.</p><p>${PARTNER_FIELDS.map((field) => html`<code>{${field}}</code> `)}</p>`,
			),
		),
	});
}

function pendingSentence({ health: { pending } }: CalledView): string {
	return `Pending callbacks: ${countUndelivered(pending.count)}.`;
}

function noAddressForm(path: string, query: string): Html {
	const button = ui.buttonForm({
		action: `${path}/listen${query}`,
		label: "I have no public address yet",
		isSmall: true,
	});
	return html`<div class="row-end"><p class="small soft grow">You get your signing secret, and read your events on your own machine with <code>ringback listen</code>. Nothing is sent until you save a URL.</p>${button}</div>`;
}

/** Makes the partner a receiver without a URL. */
export async function startListening(c: WebContext, deps: PageDeps): Promise<Response> {
	const started = await listenWithoutUrl(deps, partnerOf(c).public_id, actorOf(c));
	// The first secret is shown in this answer, so that it is in no cookie and no address.
	if (started.ok && started.value !== null) return showPartnerCallbacks(c, deps, { first: started.value });
	const part: FormPart = { path: calledPagesOf(c).path, part: "callback" };
	return finish(c, part, started, "Your events are recorded from now on. Read them with listen.");
}

// The section about `ringback listen`, which brings events to the developer's own machine.

/** Maximum number of results of a listener that the page shows. */
const SHOWN_ANSWERS = 20;

async function listenSection(
	deps: WebDeps,
	{ called }: CalledView,
	{
		listenOnly,
		isListening,
		firstSecret,
	}: { listenOnly: boolean; isListening: boolean; firstSecret: string | undefined },
): Promise<Html> {
	const { receiver_id: receiverId } = called.columns;
	const answers = await listNewestAnswers(deps.store.db, receiverId, SHOWN_ANSWERS);
	const command = partnerListenCommand(deps.publicUrl, deps.network.face.brand, firstSecret);
	const state = isListening ? ui.badge("good", "Connected") : "Not connected.";
	const words = html`<p class="small soft">Paste this into a terminal, with a token from the page <a href="${partnerApiPath(called.ownerId)}">API</a> and your signing secret (lost? <a href="#secret">prepare a new one</a>). It checks each event. Add <code>--to http://localhost:3000/postback</code> to forward it to your own program, with macros in its query for the form of a tracker.</p>`;
	const body = html`<div class="stack-tight">${words}${ui.codeBlock(command, "the command")}<p class="small soft" id="listening-live" aria-live="polite">${state}</p></div>`;
	const stop = ui.buttonForm({
		action: `${called.path}/url/remove`,
		label: "Stop recording",
		isSmall: true,
		confirm: "Stop recording your events? listen then finds none until you save a URL or start again.",
	});
	return ui.section({
		id: "listen",
		title: "On your own machine",
		actions: listenOnly ? stop : null,
		hint: listenOnly
			? "No callback URL is saved. Your events are recorded, and listen reads them."
			: "Listen to your events while you write your program. Callbacks to the saved URL are not affected.",
		body: html`${ui.padded(listenOnly || isListening ? body : ui.more("Listen on your own machine", body))}<div id="answers-live">${
			answers.length === 0 ? null : localAnswersTable(answers, true)
		}</div>`,
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
	const receiver = await findPartnerReceiver(deps.store.db, partnerOf(c).id);
	const wasListenOnly = receiver !== undefined && (await isListenOnly(deps.store.db, receiver.receiver_id));
	const removed = await removePostbackUrl(deps, partnerOf(c).public_id, actorOf(c));
	return finish(c, urlPart(c), removed, (worked) =>
		wasListenOnly ? ["good", "Your events are no longer recorded."] : removedMessage("callback URL", worked),
	);
}

// The section with the test callback.

function testSection(c: WebContext, { path, query }: CalledView, listenOnly: boolean): Html {
	const body = html`${ui.selectField({
		name: "event",
		id: "test-event",
		label: "Event",
		options: EVENT_NAMES.map((value) => ({ value, label: value })),
	})}${ui.button({ label: "Send test callback" })}`;
	return ui.section({
		id: "test",
		title: "Test callback",
		hint: `It looks like every other callback, is marked “test”, and is about no real sale. ${listenOnly ? "Start listen first, and it appears there." : "It appears in the list below."}`,
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
	const called = await calledOf(c, deps);
	const listenOnly = called !== null && (await isListenOnly(deps.store.db, called.columns.receiver_id));
	const message = listenOnly
		? "The test callback is recorded. Listen shows it on your machine."
		: "The test callback is being sent. Its result appears below.";
	return finish(c, part, sent, message);
}

export const issueNextSecret = prepareNext((c, deps, prepared) =>
	showPartnerCallbacks(c, deps, { prepared }),
);
