// /welcome/:token: where every one-time link leads. Makes the first staff account, lets an invited person in, adds a
// programme to an account, or takes a new password.

import { type AcceptedLink, acceptLink } from "../../accounts/accept-link.ts";
import { findLink } from "../../accounts/links.ts";
import { signIn, signOut } from "../../accounts/sign-in.ts";
import { type EndedAccess, sayWhatEnded } from "../../domain/ended-access.ts";
import type { Person } from "../../store/people.ts";
import { listProgrammesOf } from "../../store/programme-people.ts";
import type { WebDeps } from "../deps.ts";
import type { WebContext } from "../env.ts";
import { setFlash } from "../flash.ts";
import { readTextFields } from "../form.ts";
import {
	ACCOUNT_PATH,
	CODE_PATH,
	integrationPath,
	PROGRAMMES_PATH,
	SET_UP_PATH,
	SIGN_IN_PATH,
	withNext,
} from "../paths.ts";
import { handOnCookies } from "../session.ts";
import { showDeadLink, showLinkForm } from "./welcome-form.ts";

export async function showWelcome(c: WebContext, deps: WebDeps): Promise<Response> {
	const token = c.req.param("token") ?? "";
	const found = await findLink(deps, token);
	return found.ok ? showLinkForm(c, { token, opened: found.value }) : showDeadLink(c, found.fault);
}

export async function acceptWelcome(c: WebContext, deps: WebDeps): Promise<Response> {
	const token = c.req.param("token") ?? "";
	const { email, name, password } = await readTextFields(c, ["email", "name", "password"]);
	const { address } = c.get("visitor");
	const accepted = await acceptLink(deps, token, { email, name, password, address });
	if (accepted.ok) return goOn(c, deps, accepted.value, password);
	const found = await findLink(deps, token);
	if (!found.ok) return showDeadLink(c, found.fault);
	return showLinkForm(c, { token, opened: found.value, email, name, fault: accepted.fault });
}

async function goOn(
	c: WebContext,
	deps: WebDeps,
	{ purpose, person, programme, role, hasNewPassword, ended }: AcceptedLink,
	password: string,
): Promise<Response> {
	if (purpose === "address_mail") return goToAccount(c, person);
	const isFirst = purpose === "first_staff";
	const path =
		programme === null ? (isFirst ? SET_UP_PATH : undefined) : integrationPath(programme.public_id);
	if (hasNewPassword) {
		const said = sayNewPassword(ended);
		if (ended !== null) setFlash(c, "good", said);
		return letIn(c, deps, { person, password, said, path });
	}
	setFlash(c, "good", `You now have access to ${programme?.name ?? "this programme"}. Your role: ${role}.`);
	// The link shows that the mailbox is theirs, and lets nobody in: that is left to their password.
	const isTheirs = c.get("viewer")?.personId === person.id;
	const next = path ?? PROGRAMMES_PATH;
	return c.redirect(isTheirs ? next : withNext(SIGN_IN_PATH, next), 303);
}

/** The link lets nobody in: whoever is not signed in here does that with the new address. */
function goToAccount(c: WebContext, { id, email }: Person): Response {
	setFlash(c, "good", `Your email address is now ${email}.`);
	const isTheirs = c.get("viewer")?.personId === id;
	return c.redirect(isTheirs ? ACCOUNT_PATH : SIGN_IN_PATH, 303);
}

function sayNewPassword(ended: EndedAccess | null): string {
	if (ended === null) return "Your password is set.";
	const said = sayWhatEnded(ended);
	return `Your password is changed.${said === null ? "" : ` ${said}.`}`;
}

interface Newcomer {
	person: Person;
	password: string;
	/** What has happened, also when they are not let in. */
	said: string;
	/** Where they begin; by default where their role has its work. */
	path: string | undefined;
}

/** With the password they have just chosen; their authenticator, if they have one, is asked for all the same. */
async function letIn(
	c: WebContext,
	deps: WebDeps,
	{ person, password, said, path }: Newcomer,
): Promise<Response> {
	const visitor = c.get("visitor");
	const before = c.get("viewer");
	if (before !== null) await signOut(deps, before.personId, visitor);
	const signedIn = await signIn(deps, { email: person.email, password }, visitor);
	if (!signedIn.ok) {
		setFlash(c, "bad", `${said} You are not signed in yet. ${signedIn.fault.detail}`);
		return c.redirect(SIGN_IN_PATH, 303);
	}
	handOnCookies(c, signedIn.value.setCookies);
	if (signedIn.value.next === "code") return c.redirect(CODE_PATH, 303);
	return c.redirect(path ?? (await firstPageOf(deps, person)), 303);
}

/** A shop's people begin where the work is: at the integration of their programme. */
async function firstPageOf({ store }: WebDeps, { id, kind }: Person): Promise<string> {
	if (kind === "staff") return PROGRAMMES_PATH;
	const [programme] = await listProgrammesOf(store.db, id, 1);
	return programme === undefined ? PROGRAMMES_PATH : integrationPath(programme.publicId);
}
