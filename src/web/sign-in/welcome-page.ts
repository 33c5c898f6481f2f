// /welcome/:token: where a one-time link leads. Makes the first staff account, or lets an invited person in.

import type { Hono } from "hono";
import { html } from "hono/html";
import { acceptInvitation, findInvitee, type Invitee } from "../../accounts/accept-invitation.ts";
import { MIN_PASSWORD_LENGTH } from "../../accounts/auth.ts";
import { signIn, signOut } from "../../accounts/sign-in.ts";
import type { Fault } from "../../domain/fault.ts";
import type { Person } from "../../store/people.ts";
import { listOwnedProgrammes } from "../../store/programme-access.ts";
import { message } from "../components/blocks.ts";
import { button, linkButton, postForm, textField } from "../components/forms.ts";
import { csrfField } from "../csrf.ts";
import type { WebDeps } from "../deps.ts";
import type { WebContext, WebEnv } from "../env.ts";
import { readTextFields } from "../form.ts";
import type { Content, Html } from "../html.ts";
import { answerPlainPage } from "../page.ts";
import { handOnCookies } from "../session.ts";

const TITLE = "Welcome to Ringback";

interface WelcomeForm {
	token: string;
	invitee: Invitee;
	email?: string;
	name?: string;
	fault?: Fault;
}

export function mountWelcomePage(site: Hono<WebEnv>, deps: WebDeps): void {
	site.get("/welcome/:token", async (c) => {
		const token = c.req.param("token");
		const found = await findInvitee(deps, token);
		return found.ok ? showForm(c, { token, ...found.value }) : showDeadLink(c, found.fault);
	});
	site.post("/welcome/:token", async (c) => {
		const token = c.req.param("token");
		const { email, name, password } = await readTextFields(c, ["email", "name", "password"]);
		const accepted = await acceptInvitation(deps, token, { email, name, password });
		if (!accepted.ok) {
			const found = await findInvitee(deps, token);
			if (!found.ok) return showDeadLink(c, found.fault);
			return showForm(c, { token, ...found.value, email, name, fault: accepted.fault });
		}
		return letIn(c, deps, accepted.value, password);
	});
}

export async function letIn(
	c: WebContext,
	deps: WebDeps,
	person: Person,
	password: string,
	/** Where they begin; by default where their role has its work. */
	path?: string,
): Promise<Response> {
	const visitor = c.get("visitor");
	const before = c.get("viewer");
	if (before !== null) await signOut(deps, before.personId, visitor);
	const signedIn = await signIn(deps, { email: person.email, password }, visitor);
	if (!signedIn.ok) return c.redirect("/sign-in", 303);
	handOnCookies(c, signedIn.value.setCookies);
	if (signedIn.value.next === "code") return c.redirect("/sign-in/code", 303);
	return c.redirect(path ?? (await firstPageOf(deps, person)), 303);
}

/** An owner begins where the work is: at the integration of their programme. */
async function firstPageOf({ store }: WebDeps, { id, role }: Person): Promise<string> {
	if (role === "staff") return "/programmes";
	const [programme] = await listOwnedProgrammes(store.db, id, 1);
	return programme === undefined ? "/programmes" : `/programmes/${programme.publicId}/integration`;
}

function showForm(c: WebContext, form: WelcomeForm): Promise<Response> {
	const { token, invitee, fault } = form;
	const isKnown = invitee?.hasPassword === true;
	const title = isKnown ? "Choose a new password" : TITLE;
	const errorAt = (field: string) => (fault?.field === field ? fault.detail : undefined);
	const isAtField = ["email", "name", "password"].includes(fault?.field ?? "");
	const fields = html`
		${invitee === null ? emailField(form.email ?? "", errorAt("email")) : knownEmail(invitee.email)}
		${isKnown ? passwordField("New password", errorAt("password")) : newAccountFields(form.name ?? invitee?.name ?? "", errorAt)}
		${button({ label: isKnown ? "Change password" : "Continue", tone: "primary", isWide: true })}`;
	const body = html`<div class="stack">
		<h1>${title}</h1>
		<p>${lead(invitee)}</p>
		${fault === undefined || isAtField ? null : message("bad", fault.detail)}
		${postForm({ action: `/welcome/${encodeURIComponent(token)}`, csrf: csrfField(c), body: fields })}
	</div>`;
	return answerPlainPage(c, { title, status: fault?.httpStatus ?? 200, body });
}

export function newAccountFields(name: string, errorAt: (field: string) => string | undefined): Content {
	return [
		textField({
			name: "name",
			label: "Your name",
			value: name,
			autocomplete: "name",
			isRequired: true,
			error: errorAt("name"),
		}),
		passwordField("Password", errorAt("password")),
	];
}

function passwordField(label: string, error: string | undefined): Html {
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

function lead(invitee: Invitee): string {
	if (invitee === null) {
		return "You are the first here. This makes the first staff account: it creates programmes and invites everybody else.";
	}
	return invitee.hasPassword
		? "It takes the place of the one you had, and you are signed out everywhere else."
		: "Choose your password, and you are in.";
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
export function knownEmail(email: string): Content {
	return html`<div class="field"><p class="small soft">Email</p><p class="break"><strong>${email}</strong></p>
		<input type="text" name="username" value="${email}" autocomplete="username" hidden></div>`;
}

export function showDeadLink(c: WebContext, { detail, httpStatus }: Fault): Promise<Response> {
	const body = html`<div class="stack">
		<h1>This link has ended</h1>
		<p>${detail}</p>
		<p>${linkButton({ label: "Go to sign-in", href: "/sign-in", tone: "primary" })}</p>
	</div>`;
	return answerPlainPage(c, { title: "This link has ended", status: httpStatus, body });
}
