// /set-up: a new network, step by step: name and brand, the first programme, public address, mail. It can be left and gone
// on with at any time: each step is done by what is so.

import { html } from "hono/html";
import { changeNetwork, endSetUp } from "../../accounts/network.ts";
import type { Fault } from "../../domain/fault.ts";
import type { AddressState, SetUpStep } from "../../domain/set-up.ts";
import { facts, message, padded, pageHeader, section } from "../components/blocks.ts";
import { button, linkButton, postForm } from "../components/forms.ts";
import { badge, timeTag } from "../components/text.ts";
import { csrfField } from "../csrf.ts";
import type { WebDeps } from "../deps.ts";
import type { WebContext } from "../env.ts";
import { setFlash } from "../flash.ts";
import { readTextFields } from "../form.ts";
import type { Content, Html } from "../html.ts";
import { answerPage } from "../page.ts";
import {
	CREATE_PROGRAMME_PATH,
	END_SET_UP_PATH,
	IMPORT_PATH,
	integrationPath,
	PROGRAMMES_PATH,
	SET_UP_PATH,
} from "../paths.ts";
import { errorsByField } from "../programmes/terms-form.ts";
import { countSteps, readSetUp, type SetUpState } from "../set-up-state.ts";
import { viewerOf } from "../viewer.ts";
import { brandNote, formOf, type NetworkForm, networkFields } from "./network-fields.ts";
import { testMailForm } from "./network-page.ts";
import { sampleForm, trySample } from "./sample-programme.ts";

const TITLE = "Set up your network";

/** The button that goes on with a sample programme, beside the one that goes on with a real one. */
const TRY_SAMPLE = { name: "next", value: "sample" } as const;

interface FormState {
	form?: NetworkForm;
	faults?: readonly Fault[];
}

export function showSetUp(c: WebContext, deps: WebDeps): Promise<Response> {
	return answerSetUp(c, deps, {});
}

export async function saveNameAndBrand(c: WebContext, deps: WebDeps): Promise<Response> {
	const { name, brand, next } = await readTextFields(c, ["name", "brand", "next"]);
	const face = c.get("network");
	const input = face.brandState === "open" ? { name, brand } : { name };
	const changed = await changeNetwork(deps, viewerOf(c).personId, input);
	if (!changed.ok) {
		const form = { ...formOf(face), ...input };
		return answerSetUp(c, deps, { form, faults: changed.faults });
	}
	if (next === TRY_SAMPLE.value) return trySample(c, deps);
	setFlash(c, "good", "Saved.");
	const { programmeId } = await readSetUp(c, deps);
	return c.redirect(programmeId === null ? CREATE_PROGRAMME_PATH : SET_UP_PATH, 303);
}

export async function finishSetUp(c: WebContext, deps: WebDeps): Promise<Response> {
	await endSetUp(deps, viewerOf(c).personId);
	setFlash(c, "info", "The set-up is no longer shown. You can find it under Network.");
	return c.redirect(PROGRAMMES_PATH, 303);
}

async function answerSetUp(c: WebContext, deps: WebDeps, state: FormState): Promise<Response> {
	const setUp = await readSetUp(c, deps);
	const { done, steps } = countSteps(setUp);
	const isEnded = c.get("network").setUpEndedAtMs !== null;
	// One thing at a time: nothing else can be wrong before there is a network.
	const isNamed = setUp.done.has("network") || isEnded;
	const end = postForm({
		action: END_SET_UP_PATH,
		csrf: csrfField(c),
		className: "row",
		body: button({
			label: done === steps ? "Finish" : "Don't show this again",
			tone: done === steps ? "primary" : "quiet",
		}),
	});
	const body = html`${pageHeader({
		title: TITLE,
		...(isNamed ? { hint: `${done} of ${steps} steps done. The rest can wait.` } : {}),
		actions: isEnded ? linkButton({ label: "All programmes", href: PROGRAMMES_PATH }) : isNamed ? end : null,
	})}${step(setUp, "network", "Name and brand", networkBody(c, setUp, state))}${
		isNamed ? furtherSteps(c, deps, setUp) : null
	}`;
	const status = state.faults?.[0]?.httpStatus ?? 200;
	return answerPage(c, { title: TITLE, active: "network", isSetUp: true, status, body });
}

function furtherSteps(c: WebContext, deps: WebDeps, setUp: SetUpState): Html {
	return html`${step(setUp, "programme", "First programme", programmeBody(c, setUp))}${step(
		setUp,
		"address",
		"Public address",
		addressBody(deps, setUp),
	)}${step(setUp, "mail", "Mail", mailBody(c, deps))}`;
}

function step({ done }: SetUpState, name: SetUpStep, title: string, body: Html): Html {
	const actions = done.has(name) ? badge("good", "Done") : badge("plain", "To do");
	return section({ id: name, title, actions, body });
}

function networkBody(
	c: WebContext,
	{ done, programmeId }: SetUpState,
	{ form, faults = [] }: FormState,
): Html {
	const face = c.get("network");
	const isOpen = face.brandState === "open";
	const errors = errorsByField(faults);
	const fields = html`<div class="form-grid">${networkFields(
		isOpen ? ["name", "brand"] : ["name"],
		form ?? formOf(face),
		errors,
	)}</div>${brandNote(face)}
	<div class="row">${button(
		done.has("network") ? { label: "Save" } : { label: "Save and continue", tone: "primary" },
	)}${
		done.has("network") || programmeId !== null
			? null
			: button({ label: "Save and try it with a sample programme", ...TRY_SAMPLE })
	}</div>`;
	const above = errors.get("");
	return padded(
		above === undefined ? null : message("bad", above),
		postForm({ action: SET_UP_PATH, csrf: csrfField(c), body: fields }),
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
	if (address === "own-machine") return padded(html`<p>${words}</p>`);
	return padded(
		facts([
			["Links begin with", html`<code class="break">${publicUrl}</code>`],
			["Your browser opened", html`<code class="break">${host ?? "unknown"}</code>`],
		]),
		message(tone, words),
	);
}

function mailBody(c: WebContext, { mailer }: WebDeps): Html {
	if (mailer === null) {
		return padded(
			html`<p>Mail is off. You hand over links yourself, until <code>SMTP_URL</code> and <code>MAIL_FROM</code> are set.</p>`,
		);
	}
	const { mailTestedAtMs } = c.get("network");
	const tested =
		mailTestedAtMs === null
			? html`<p>Mail is on. Send one to yourself to see that it arrives.</p>`
			: html`<p>Your mail server last accepted a test mail on ${timeTag(mailTestedAtMs)}.</p>`;
	return padded(tested, testMailForm(csrfField(c), viewerOf(c).email, SET_UP_PATH));
}

function programmeBody(c: WebContext, { programmeId, done }: SetUpState): Html {
	const create = { label: "Create programme", href: CREATE_PROGRAMME_PATH } as const;
	if (programmeId !== null) {
		return padded(
			html`<p>You have one. On its Integration page you get the API key, the signing secret and snippets.</p>`,
			html`<div class="row">${linkButton({ label: "Go to Integration", href: integrationPath(programmeId) })}${linkButton(create)}</div>`,
		);
	}
	return padded(
		html`<p>A programme is a shop's agreement with you: its currency, its rates, its approval window. Moving from other software? <a href="${IMPORT_PATH}">Import programmes, people and decided conversions</a>.</p>`,
		html`<div class="row">${linkButton({
			...create,
			...(done.has("network") ? { tone: "primary" } : {}),
		})}${sampleForm(c)}</div>`,
	);
}
