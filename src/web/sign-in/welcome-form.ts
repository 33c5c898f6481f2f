// What the page behind a one-time link asks for, by what the link is for.

import { html } from "hono/html";
import { MIN_PASSWORD_LENGTH } from "../../accounts/auth.ts";
import type { OpenedLink } from "../../accounts/links.ts";
import type { Fault } from "../../domain/fault.ts";
import { ROLE_SUMMARIES } from "../../domain/roles.ts";
import { button, linkButton, postForm, textField } from "../components/forms.ts";
import { csrfField } from "../csrf.ts";
import type { WebContext } from "../env.ts";
import { placeFault } from "../form.ts";
import type { Content } from "../html.ts";
import { titleOf } from "../masthead.ts";
import { answerPlainPage } from "../page.ts";
import { FORGOT_PASSWORD_PATH, SIGN_IN_PATH, welcomePath } from "../paths.ts";

export interface LinkForm {
	token: string;
	opened: OpenedLink;
	email?: string;
	name?: string;
	fault?: Fault;
}

interface Parts {
	title: string;
	lead: Content;
	/** Null: asked for. */
	email: string | null;
	/** What the name field holds; null where none is asked for. */
	name: string | null;
	/** Null where none is asked for. */
	passwordLabel: string | null;
	button: string;
}

export function showLinkForm(c: WebContext, form: LinkForm): Promise<Response> {
	const { token, opened, fault } = form;
	const parts = partsOf(opened, titleOf(c.get("network")));
	const { at, above } = placeFault(fault, ["email", "name", "password"]);
	const fields = html`
		${parts.email === null ? emailField(form.email ?? "", at("email")) : knownEmail(parts.email)}
		${parts.name === null ? null : nameField(form.name || parts.name, at("name"))}
		${parts.passwordLabel === null ? null : passwordField(parts.passwordLabel, at("password"))}
		${button({ label: parts.button, tone: "primary", isWide: true })}`;
	const body = html`<p>${parts.lead}</p>
		${above}
		${postForm({ action: welcomePath(encodeURIComponent(token)), csrf: csrfField(c), body: fields })}`;
	return answerPlainPage(c, { title: parts.title, status: fault?.httpStatus ?? 200, body });
}

function partsOf(opened: OpenedLink, network: string): Parts {
	const title = `Welcome to ${network}`;
	switch (opened.kind) {
		case "first":
			return {
				title,
				lead: "This makes the first staff account.",
				email: null,
				name: "",
				passwordLabel: "Password",
				button: "Continue",
			};
		case "join":
			return {
				title,
				lead: "Choose a password to sign in with.",
				email: opened.person.email,
				name: opened.person.name,
				passwordLabel: "Password",
				button: "Continue",
			};
		case "programme":
			return {
				title: opened.role === "owner" ? "Manage a programme" : "Join a programme",
				lead: html`You are invited to <strong class="break">${opened.programme.name}</strong> as <strong>${opened.role}</strong>. This role ${ROLE_SUMMARIES[opened.role]}.${
					opened.hasAccount
						? " It is added to your account when you accept."
						: " Choose a password to sign in with."
				}`,
				email: opened.email,
				name: opened.hasAccount ? null : (opened.person?.name ?? ""),
				passwordLabel: opened.hasAccount ? null : "Password",
				button: "Accept",
			};
		case "address":
			return {
				title: "Confirm your email address",
				lead: html`From now on you sign in with this address instead of <strong class="break">${opened.person.email}</strong>, and mails go here.`,
				email: opened.email,
				name: null,
				passwordLabel: null,
				button: "Confirm",
			};
		case "password":
			return {
				title: "Choose a new password",
				lead: "It replaces the one you had. You are signed out everywhere else, and links that you made or that were made for you stop working.",
				email: opened.person.email,
				name: null,
				passwordLabel: "New password",
				button: "Change password",
			};
		default:
			return opened satisfies never;
	}
}

function nameField(value: string, error: string | undefined): Content {
	return textField({
		name: "name",
		label: "Your name",
		value,
		autocomplete: "name",
		isRequired: true,
		error,
	});
}

function passwordField(label: string, error: string | undefined): Content {
	return textField({
		name: "password",
		label,
		type: "password",
		autocomplete: "new-password",
		hint: `At least ${MIN_PASSWORD_LENGTH} characters.`,
		isRequired: true,
		error,
	});
}

function emailField(value: string, error: string | undefined): Content {
	return textField({
		name: "email",
		label: "Email",
		type: "email",
		value,
		autocomplete: "username",
		isRequired: true,
		error,
	});
}

/** Shown, not asked; the hidden copy is for password managers. */
function knownEmail(email: string): Content {
	return html`<div class="field"><p class="small soft">Email</p><p class="break"><strong>${email}</strong></p>
		<input type="text" name="username" value="${email}" autocomplete="username" hidden></div>`;
}

/** What it was for is not known any more. */
export function showDeadLink(c: WebContext, { detail, httpStatus }: Fault): Promise<Response> {
	const body = html`<p>${detail}</p>
		<p>${linkButton({ label: "Go to sign-in", href: SIGN_IN_PATH, tone: "primary" })}</p>
		<p class="small">Forgot your password? <a href="${FORGOT_PASSWORD_PATH}">Ask for a new link</a></p>`;
	return answerPlainPage(c, { title: "This link is no longer valid", status: httpStatus, body });
}
