// What the buttons of "Keys and snippets" do: parse, call one use case, say how it went, back to the tab.

import { issueKey, renameKey, revokeKey } from "../../accounts/keys.ts";
import {
	activateSecret,
	discardSecret,
	endReplacedSecrets,
	prepareSecret,
} from "../../accounts/signing-secret.ts";
import type { WebDeps } from "../deps.ts";
import type { WebContext } from "../env.ts";
import { setFlash } from "../flash.ts";
import { readTextFields } from "../form.ts";
import { programmeOf, viewerOf } from "../viewer.ts";
import { handOverIssued } from "./issued-cookie.ts";
import { backTo, backWithFault, type FormPart, finish } from "./tab-form.ts";

const KEYS: FormPart = { tab: "keys", part: "keys" };
const SECRET: FormPart = { tab: "keys", part: "secret" };

/** The first one is issued on the tab that leads through the set-up, and shown there. */
export async function issueApiKey(c: WebContext, deps: WebDeps): Promise<Response> {
	const programme = programmeOf(c);
	const { personId } = viewerOf(c);
	const { on, name } = await readTextFields(c, ["on", "name"]);
	const at: FormPart = on === "callbacks" ? { tab: "callbacks", part: "keys" } : KEYS;
	const issued = await issueKey(deps, programme.public_id, personId, name);
	if (!issued.ok) return backWithFault(c, at, issued.fault);
	const { key, secret } = issued.value;
	handOverIssued(c, deps, programme, personId, at.tab, { key, secret });
	return backTo(c, at);
}

export async function renameApiKey(c: WebContext, deps: WebDeps): Promise<Response> {
	const { public_id: programmeId } = programmeOf(c);
	const { name } = await readTextFields(c, ["name"]);
	const keyId = c.req.param("keyId") ?? "";
	const renamed = await renameKey(deps, programmeId, keyId, name, viewerOf(c).personId);
	if (!renamed.ok) return backWithFault(c, KEYS, renamed.fault);
	const { before, after } = renamed.value;
	const [tone, text] =
		before === after
			? (["info", "Nothing was changed."] as const)
			: (["good", `Saved. The key is now called ${after} (was ${before}).`] as const);
	setFlash(c, tone, text, KEYS.part);
	return backTo(c, KEYS);
}

export async function revokeApiKey(c: WebContext, deps: WebDeps): Promise<Response> {
	const { public_id: programmeId } = programmeOf(c);
	const revoked = await revokeKey(deps, programmeId, c.req.param("keyId") ?? "", viewerOf(c).personId);
	return finish(c, KEYS, revoked, "The key is revoked: requests with it are refused from now on.");
}

export async function issueNextSecret(c: WebContext, deps: WebDeps): Promise<Response> {
	const programme = programmeOf(c);
	const { personId } = viewerOf(c);
	const prepared = await prepareSecret(deps, programme.public_id, personId);
	if (!prepared.ok) return backWithFault(c, SECRET, prepared.fault);
	handOverIssued(c, deps, programme, personId, SECRET.tab, { key: null, secret: prepared.value.secret });
	return backTo(c, SECRET);
}

export async function activateNextSecret(c: WebContext, deps: WebDeps): Promise<Response> {
	const { secretId } = await readTextFields(c, ["secretId"]);
	const { public_id: programmeId } = programmeOf(c);
	const activated = await activateSecret(deps, programmeId, secretId, viewerOf(c).personId);
	const text =
		"The new secret is active: callbacks are signed with it. When nothing of yours uses the old one any more, end it.";
	return finish(c, SECRET, activated, text);
}

export async function discardNextSecret(c: WebContext, deps: WebDeps): Promise<Response> {
	const { secretId } = await readTextFields(c, ["secretId"]);
	const { public_id: programmeId } = programmeOf(c);
	const discarded = await discardSecret(deps, programmeId, secretId, viewerOf(c).personId);
	return finish(c, SECRET, discarded, "The prepared secret is discarded. The active one stays as it is.");
}

export async function endOldSecret(c: WebContext, deps: WebDeps): Promise<Response> {
	const ended = await endReplacedSecrets(deps, programmeOf(c).public_id, viewerOf(c).personId);
	return finish(
		c,
		SECRET,
		ended,
		"The old secret has ended: requests signed with it are refused from now on.",
	);
}
