// /network: a new network is set up here, step by step; then staff say what it is called, what it looks like and who its
// mails come from, and see a mail before anybody gets one.

import { MAX_NAME_LENGTH } from "../../domain/display-name.ts";
import { type Fault, fault, succeed } from "../../domain/fault.ts";
import { isBrand, MAX_BRAND_LENGTH } from "../../domain/network.ts";
import { headerNames } from "../../domain/signature.ts";
import { composeResetMail } from "../../mail/letters.ts";
import { addressMail } from "../../mail/network-mailer.ts";
import type { Mail } from "../../ports.ts";
import {
	changeNetwork,
	endSetUp,
	IMAGE_TYPES,
	MAX_LOGO_BYTES,
	type NetworkField,
	removeLogo,
	saveLogo,
	sendTestMail,
} from "../../programmes/network.ts";
import type { NetworkFace } from "../../store/queries/known-network.ts";
import { logoImage } from "../document.ts";
import { declareForm, type FilledForm, readTextFields } from "../form.ts";
import {
	answerPage,
	csrfField,
	setFlash,
	type Upload,
	viewerOf,
	type WebContext,
	type WebDeps,
} from "../page.ts";
import {
	CREATE_PROGRAMME_PATH,
	END_SET_UP_PATH,
	IMPORT_PATH,
	integrationPath,
	LOGO_PATH,
	NETWORK_PATH,
	PROGRAMMES_PATH,
	REMOVE_LOGO_PATH,
	SET_UP_PATH,
	TEST_MAIL_PATH,
	welcomePath,
} from "../paths.ts";
import type { AddressState, SetUpStep } from "../set-up.ts";
import { countSteps, readSetUp, type SetUpState } from "../set-up-state.ts";
import * as ui from "../ui.ts";
import { type Content, type Html, html } from "../ui.ts";
import { sampleForm, trySample } from "./sample-programme.ts";

/** The button that goes on with a sample programme, beside the one that goes on with a real one. */
const TRY_SAMPLE = { name: "next", value: "sample" } as const;

interface NetworkState {
	form?: NetworkForm;
	faults?: readonly Fault[];
	/** Why a logo was not taken. */
	logoFault?: Fault;
}

export function showNetwork(c: WebContext, deps: WebDeps): Promise<Response> {
	return answerNetwork(c, deps, {});
}

export async function saveNetwork(c: WebContext, deps: WebDeps): Promise<Response> {
	const typed = await FORM.read(c);
	const { brandState, brand } = c.get("network");
	const { brand: typedBrand, ...others } = typed;
	// Where the form has no such field, nobody wants to change it.
	const input = brandState === "open" ? typed : others;
	const changed = await changeNetwork(deps, viewerOf(c).personId, input);
	if (!changed.ok) {
		const form = { ...typed, brand: brandState === "open" ? typedBrand : brand };
		return answerNetwork(c, deps, { form, faults: changed.faults });
	}
	setFlash(
		c,
		changed.value.length === 0 ? "info" : "good",
		changed.value.length === 0 ? "Nothing was changed." : "Saved.",
	);
	return c.redirect(NETWORK_PATH, 303);
}

/** The first step of a new network. The set-up can be left and gone on with: each step is done by what is so. */
export async function saveNameAndBrand(c: WebContext, deps: WebDeps): Promise<Response> {
	const { name, brand, next } = await readTextFields(c, ["name", "brand", "next"]);
	const face = c.get("network");
	const input = face.brandState === "open" ? { name, brand } : { name };
	const changed = await changeNetwork(deps, viewerOf(c).personId, input);
	if (!changed.ok) {
		const form = { ...formOf(face), ...input };
		return answerNetwork(c, deps, { form, faults: changed.faults });
	}
	if (next === TRY_SAMPLE.value) return trySample(c, deps);
	setFlash(c, "good", "Saved.");
	const { programmeId } = await readSetUp(c, deps);
	return c.redirect(programmeId === null ? CREATE_PROGRAMME_PATH : NETWORK_PATH, 303);
}

export async function finishSetUp(c: WebContext, deps: WebDeps): Promise<Response> {
	await endSetUp(deps, viewerOf(c).personId);
	setFlash(c, "info", "The set-up is no longer shown. What it asked for is under Network.");
	return c.redirect(PROGRAMMES_PATH, 303);
}

/** Where the set-up was before. */
export function showSetUp(c: WebContext): Response {
	return c.redirect(NETWORK_PATH, 301);
}

export async function sendTest(c: WebContext, deps: WebDeps): Promise<Response> {
	const { personId, email } = viewerOf(c);
	const sent = await sendTestMail(deps, { personId, email });
	if (sent.ok)
		setFlash(
			c,
			"good",
			`Your mail server accepted the test mail. Check the inbox of ${email}, and the spam folder.`,
		);
	else setFlash(c, "bad", sent.fault.detail);
	return c.redirect(`${NETWORK_PATH}#mail`, 303);
}

async function answerNetwork(c: WebContext, deps: WebDeps, state: NetworkState): Promise<Response> {
	const { form, faults = [], logoFault } = state;
	const face = c.get("network");
	const setUp = face.setUpEndedAtMs === null ? await readSetUp(c, deps) : null;
	const isFirst = setUp !== null && !setUp.done.has("network");
	const filled = fillForm(face, form ?? formOf(face), faults, isFirst);
	return answerPage(c, {
		title: isFirst ? "Set up your network" : "Network",
		active: "network",
		isSetUp: setUp !== null,
		status: faults[0]?.httpStatus ?? logoFault?.httpStatus ?? 200,
		body: isFirst
			? firstStep(c, setUp, filled)
			: wholePage(c, deps, { setUp, filled, isRefused: faults.length > 0, logoFault }),
	});
}

interface NetworkView {
	/** Null when it was ended. */
	setUp: SetUpState | null;
	filled: FilledForm<NetworkField>;
	isRefused: boolean;
	logoFault: Fault | undefined;
}

function wholePage(c: WebContext, deps: WebDeps, view: NetworkView): Html {
	const { setUp, filled, isRefused, logoFault } = view;
	const { fields, above } = filled;
	const face = c.get("network");
	const rows = html`<div class="form-grid">${fields("name", "supportAddress", "colour")}</div>
	<div class="form-grid">${fields("senderName", "senderAddress")}</div>
	${brandNote(face)}
	${face.brandState === "open" ? html`<div class="form-grid">${fields("brand")}</div>` : null}
	<div class="row">${ui.button({ label: "Save", tone: "primary" })}</div>`;
	return html`${networkHeader(c, setUp)}${
		isRefused ? (above ?? ui.message("bad", "Nothing was saved yet. Correct what is marked below.")) : null
	}${
		setUp === null
			? null
			: html`${ui.section({
					id: "programme",
					title: "First programme",
					actions: stepState(setUp, "programme"),
					body: programmeBody(c, setUp),
				})}${ui.section({
					id: "address",
					title: "Public address",
					actions: stepState(setUp, "address"),
					body: addressBody(deps, setUp),
				})}`
	}${ui.section({
		id: "network",
		title: "Name, look and sender",
		actions: stepState(setUp, "network"),
		body: ui.padded(ui.postForm({ action: NETWORK_PATH, csrf: csrfField(c), body: rows })),
	})}${logoSection(face, csrfField(c), logoFault)}${mailSection(c, deps, stepState(setUp, "mail"))}`;
}

function networkHeader(c: WebContext, setUp: SetUpState | null): Html {
	const title = "Network";
	if (setUp === null) {
		return ui.pageHeader({ title, hint: "What people see on pages and in mails. Changes show at once." });
	}
	const { done, steps } = countSteps(setUp);
	return ui.pageHeader({
		title,
		hint: `Set-up: ${done} of ${steps} steps done. The rest can wait.`,
		actions: ui.buttonForm({
			action: END_SET_UP_PATH,
			csrf: csrfField(c),
			label: done === steps ? "Finish the set-up" : "Don't show the set-up again",
			tone: done === steps ? "primary" : "quiet",
		}),
	});
}

/** One thing at a time: nothing else can be wrong before there is a network. */
function firstStep(
	c: WebContext,
	{ programmeId }: SetUpState,
	{ fields, above }: FilledForm<NetworkField>,
): Html {
	const rows = html`<div class="form-grid">${fields()}</div>${brandNote(c.get("network"))}
	<div class="row">${ui.button({ label: "Save and continue", tone: "primary" })}${
		programmeId !== null
			? null
			: ui.button({ label: "Save and try it with a sample programme", ...TRY_SAMPLE })
	}</div>`;
	return html`${ui.pageHeader({ title: "Set up your network" })}${ui.section({
		id: "network",
		title: "Name and brand",
		body: ui.padded(above, ui.postForm({ action: SET_UP_PATH, csrf: csrfField(c), body: rows })),
	})}`;
}

/** Done, or to do: only while the set-up lasts. */
function stepState(setUp: SetUpState | null, name: SetUpStep): Html | null {
	if (setUp === null) return null;
	return setUp.done.has(name) ? ui.badge("good", "Done") : ui.badge("plain", "To do");
}

function programmeBody(c: WebContext, { programmeId, done }: SetUpState): Html {
	const create = { label: "Create programme", href: CREATE_PROGRAMME_PATH } as const;
	if (programmeId !== null) {
		return ui.padded(
			html`<p>You have one. On its Integration page you get the API key, the signing secret and snippets.</p>`,
			html`<div class="row">${ui.linkButton({ label: "Go to Integration", href: integrationPath(programmeId) })}${ui.linkButton(create)}</div>`,
		);
	}
	return ui.padded(
		html`<p>A programme is a shop's agreement with you: its currency, its rates, its approval window. Moving from other software? <a href="${IMPORT_PATH}">Import programmes, people and decided conversions</a>.</p>`,
		html`<div class="row">${ui.linkButton({
			...create,
			...(done.has("network") ? { tone: "primary" } : {}),
		})}${sampleForm(c)}</div>`,
	);
}

const ADDRESS_WORDS: Readonly<Record<AddressState, readonly ["good" | "warn" | "info", Content]>> = {
	right: ["good", "You opened this address, and links in mails lead here."],
	"own-machine": [
		"info",
		html`Fine to try it out on this machine. Before others use it, set <code>PUBLIC_URL</code> to the address people open, and restart.`,
	],
	unset: [
		"warn",
		html`<strong>PUBLIC_URL is not set.</strong> Links in mails lead to where this process listens, which others may not reach. Set <code>PUBLIC_URL</code> to the address people open, such as <code>https://ringback.example</code>, and restart.`,
	],
	other: [
		"warn",
		html`<strong>You opened another address.</strong> Links in mails lead to the first one. If people should use the second, set <code>PUBLIC_URL</code> to it and restart.`,
	],
	plain: [
		"warn",
		html`<strong>This address is not HTTPS.</strong> Passwords and API keys can be read on the way. Put a reverse proxy with HTTPS in front, set <code>PUBLIC_URL</code> to its address and restart.`,
	],
};

function addressBody({ publicUrl }: WebDeps, { address, host }: SetUpState): Html {
	const [tone, words] = ADDRESS_WORDS[address];
	if (address === "own-machine") return ui.padded(html`<p>${words}</p>`);
	return ui.padded(
		ui.facts([
			["Links begin with", html`<code class="break">${publicUrl}</code>`],
			["Your browser opened", html`<code class="break">${host ?? "unknown"}</code>`],
		]),
		ui.message(tone, words),
	);
}

function mailSection(c: WebContext, { mailer, publicUrl }: WebDeps, state: Html | null): Html {
	const face = c.get("network");
	const sample = composeResetMail(viewerOf(c).email, `${publicUrl}${welcomePath("…")}`);
	const mail = addressMail(sample, face, publicUrl);
	return ui.section({
		id: "mail",
		title: "What a mail looks like",
		hint: "The one for a new password, with what is saved above.",
		actions: state,
		body: ui.padded(
			ui.facts([
				["From", senderWords(mail)],
				...(mail.replyTo === undefined ? [] : [["Replies go to", mail.replyTo] as const]),
				["Subject", mail.subject],
			]),
			ui.codeBlock(mail.text, "the mail"),
			mailer === null ? MAIL_IS_OFF : testMail(c, face),
		),
	});
}

function senderWords({ from }: Mail): string {
	if (from === undefined) return "as MAIL_FROM says";
	return `${from.name ?? ""} <${from.address ?? "the address of MAIL_FROM"}>`.trim();
}

const MAIL_IS_OFF = ui.message(
	"warn",
	html`<strong>Mail is off.</strong> You have to hand over invitations and password links yourself, and notices appear on the pages only. Set <code>SMTP_URL</code> and <code>MAIL_FROM</code>, and restart.`,
);

function testMail(c: WebContext, { mailTestedAtMs }: NetworkFace): Html {
	const tested =
		mailTestedAtMs === null
			? html`<p>Mail is on. Send one to yourself to see that it arrives.</p>`
			: html`<p>Your mail server last accepted a test mail on ${ui.timeTag(mailTestedAtMs)}.</p>`;
	return html`${tested}${ui.postForm({
		action: TEST_MAIL_PATH,
		csrf: csrfField(c),
		className: "row",
		body: html`${ui.button({ label: "Send a test mail to me" })}<span class="small soft break">${viewerOf(c).email}</span>`,
	})}`;
}

// The fields in which staff say what their network is called, looks like and writes from.

/** What each field holds: typed a moment ago, or as it is stored. */
type NetworkForm = Readonly<Record<NetworkField, string>>;

function formOf(face: NetworkFace): NetworkForm {
	return {
		name: face.name ?? "",
		brand: face.isBrandChosen ? face.brand : "",
		colour: face.colour ?? "",
		supportAddress: face.supportAddress ?? "",
		senderName: face.senderName ?? "",
		senderAddress: face.senderAddress ?? "",
	};
}

const FORM = declareForm<NetworkField>({
	name: {
		label: "Network name",
		hint: "On every page and in every mail.",
		autocomplete: "organization",
		maxLength: MAX_NAME_LENGTH,
		isRequired: true,
	},
	brand: { label: "Brand in header names (optional)", isMono: true, maxLength: MAX_BRAND_LENGTH },
	colour: {
		label: "Colour",
		hint: "Six hex digits, such as #3b4fd8. Where it would be hard to read, it is made darker or lighter. Empty: Ringback's own.",
		isMono: true,
		maxLength: 7,
	},
	supportAddress: {
		label: "Support address",
		hint: "Shown below every page and mail. Replies to mails go there.",
		type: "email",
	},
	senderName: { label: "Sender's name", hint: "Empty: the network's name.", maxLength: MAX_NAME_LENGTH },
	senderAddress: {
		label: "Sender's address",
		hint: "Empty: the address of MAIL_FROM. Your mail server must allow it: send a test mail.",
		type: "email",
	},
});

function fillForm(
	{ brandState }: NetworkFace,
	form: NetworkForm,
	faults: readonly Fault[],
	isFirst: boolean,
): FilledForm<NetworkField> {
	const shown: readonly NetworkField[] = isFirst
		? ["name"]
		: ["name", "colour", "supportAddress", "senderName", "senderAddress"];
	return FORM.fill(form, faults, {
		shown: brandState === "open" ? [...shown, "brand"] : shown,
		looks: { brand: { hint: brandHint(form.brand) } },
	});
}

const EXAMPLE_BRAND = "Acme";

function brandHint(brand: string): Content {
	const shown = headerNames(isBrand(brand) ? brand : EXAMPLE_BRAND).signature;
	return html`As in <code>${shown}</code>. Empty: made from the name.`;
}

/** While it can be chosen: that it stays. Afterwards: why it cannot. */
function brandNote({ brand, brandState }: Pick<NetworkFace, "brand" | "brandState">): Html {
	const name = html`<code>${headerNames(brand).signature}</code>`;
	switch (brandState) {
		case "open":
			return ui.message(
				"warn",
				html`<strong>The brand is permanent</strong> once the first API key is issued, and a sample programme comes with one: shops rely on the header names.`,
			);
		case "given":
			return html`<p class="small soft">Headers are named ${name}: the brand is given by <code>RINGBACK_BRAND</code>.</p>`;
		case "fixed":
			return html`<p class="small soft">Headers are named ${name}. The brand cannot be changed any more: a programme has an API key, and shops rely on the header names.</p>`;
		default:
			return brandState satisfies never;
	}
}

// The logo as it is now, and the forms to choose another or none.

function logoSection({ logo }: Pick<NetworkFace, "logo">, csrf: Html, fault: Fault | undefined): Html {
	const file = ui.fileField({
		name: "file",
		label: logo === null ? "Picture" : "Another picture",
		accept: IMAGE_TYPES.join(","),
		hint: "PNG, JPEG or WebP, at most 256 KB, 16 to 1,024 pixels wide and high. It is shown 28 pixels high; one that is at least twice as wide as high takes the place of the name.",
		error: fault?.detail,
		isRequired: true,
	});
	const present =
		logo === null
			? html`<p class="small soft">No logo yet: Ringback's mark is shown beside the network's name.</p>`
			: html`<div class="row">${logoImage(logo)}<span class="small soft">${logo.width} × ${logo.height} pixels</span>${ui.buttonForm(
					{ action: REMOVE_LOGO_PATH, csrf, label: "Remove", isSmall: true, ariaLabel: "Remove the logo" },
				)}</div>`;
	return ui.section({
		id: "logo",
		title: "Logo",
		body: ui.padded(
			present,
			ui.postForm({
				action: LOGO_PATH,
				csrf,
				isUpload: true,
				body: [file, html`<div class="row">${ui.button({ label: "Upload" })}</div>`],
			}),
		),
	});
}

// A new logo, or none. What is uploaded is judged by its bytes.

const LOGO_ANCHOR = `${NETWORK_PATH}#logo`;

export async function uploadLogo(c: WebContext, deps: WebDeps): Promise<Response> {
	const upload = c.get("upload") ?? succeed(null);
	if (!upload.ok) return answerNetwork(c, deps, { logoFault: inOurWords(upload.fault) });
	if (upload.value === null) {
		const logoFault = fault("invalid_image", "Choose a picture first.", "file");
		return answerNetwork(c, deps, { logoFault });
	}
	const saved = await saveLogo(deps, viewerOf(c).personId, await readStart(upload.value));
	if (!saved.ok) return answerNetwork(c, deps, { logoFault: saved.fault });
	setFlash(c, "good", "The logo is saved.");
	return c.redirect(LOGO_ANCHOR, 303);
}

export async function dropLogo(c: WebContext, deps: WebDeps): Promise<Response> {
	await removeLogo(deps, viewerOf(c).personId);
	setFlash(c, "good", "The logo is removed.");
	return c.redirect(LOGO_ANCHOR, 303);
}

/** No more than one byte too many is ever held. */
async function readStart(upload: Upload): Promise<Uint8Array> {
	const pieces: Uint8Array[] = [];
	let bytes = 0;
	for await (const piece of upload.read()) {
		pieces.push(piece);
		bytes += piece.length;
		if (bytes > MAX_LOGO_BYTES) break;
	}
	return Buffer.concat(pieces).subarray(0, MAX_LOGO_BYTES + 1);
}

/** The guard's own are about files of rows. */
function inOurWords(found: Fault): Fault {
	if (found.code !== "body_too_large") return found;
	return {
		...found,
		detail: `The picture is larger than ${MAX_LOGO_BYTES / 1_024} KB. Choose a smaller one.`,
	};
}
