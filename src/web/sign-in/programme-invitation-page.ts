// /welcome/programme/:token: an owner asked somebody to look after a programme with them. Who has an account
// accepts with a button; who has none makes one.

import type { Hono } from "hono";
import { html } from "hono/html";
import {
	type AskedOwner,
	acceptOwnerInvitation,
	findAskedOwner,
} from "../../accounts/accept-owner-invitation.ts";
import type { Fault } from "../../domain/fault.ts";
import { message } from "../components/blocks.ts";
import { button, postForm } from "../components/forms.ts";
import { csrfField } from "../csrf.ts";
import type { WebDeps } from "../deps.ts";
import type { WebContext, WebEnv } from "../env.ts";
import { setFlash } from "../flash.ts";
import { readTextFields } from "../form.ts";
import { answerPlainPage } from "../page.ts";
import { knownEmail, letIn, newAccountFields, showDeadLink } from "./welcome-page.ts";

const TITLE = "Look after a programme";

export function mountProgrammeInvitationPage(site: Hono<WebEnv>, deps: WebDeps): void {
	site.get("/welcome/programme/:token", async (c) => {
		const asked = await findAskedOwner(deps, c.req.param("token"));
		return asked.ok ? showInvitation(c, c.req.param("token"), asked.value, "") : showDeadLink(c, asked.fault);
	});
	site.post("/welcome/programme/:token", async (c) => {
		const token = c.req.param("token");
		const { name, password } = await readTextFields(c, ["name", "password"]);
		const accepted = await acceptOwnerInvitation(deps, token, { name, password });
		if (!accepted.ok) {
			const asked = await findAskedOwner(deps, token);
			if (!asked.ok) return showDeadLink(c, asked.fault);
			return showInvitation(c, token, asked.value, name, accepted.fault);
		}
		const { person, programme, isNew } = accepted.value;
		const path = `/programmes/${programme.public_id}/integration`;
		if (isNew) return letIn(c, deps, person, password, path);
		setFlash(c, "good", `You look after ${programme.name} from now on.`);
		// The link shows that the mailbox is theirs, and lets nobody in: that is left to their password.
		const isTheirs = c.get("viewer")?.personId === person.id;
		return c.redirect(isTheirs ? path : `/sign-in?next=${encodeURIComponent(path)}`, 303);
	});
}

function showInvitation(
	c: WebContext,
	token: string,
	{ email, name: knownName, programme, hasAccount }: AskedOwner,
	name: string,
	fault?: Fault,
): Promise<Response> {
	const errorAt = (field: string) => (fault?.field === field ? fault.detail : undefined);
	const isAtField = ["name", "password"].includes(fault?.field ?? "");
	const fields = html`${knownEmail(email)}
		${hasAccount ? null : newAccountFields(name === "" ? knownName : name, errorAt)}
		${button({ label: "Accept", tone: "primary", isWide: true })}`;
	const body = html`<div class="stack">
		<h1>${TITLE}</h1>
		<p>An owner of <strong class="break">${programme.name}</strong> asks you to look after it with them.${
			hasAccount ? " It is added to your account when you accept." : " Choose your password, and you are in."
		}</p>
		${fault === undefined || isAtField ? null : message("bad", fault.detail)}
		${postForm({
			action: `/welcome/programme/${encodeURIComponent(token)}`,
			csrf: csrfField(c),
			body: fields,
		})}
	</div>`;
	return answerPlainPage(c, { title: TITLE, status: fault?.httpStatus ?? 200, body });
}
