// The tab "Keys and snippets": what a shop signs with, and the code that does it in eight languages.

import { html } from "hono/html";
import { listApiKeys } from "../../store/keys.ts";
import { findUsableSecrets } from "../../store/signing-secrets.ts";
import type { WebDeps } from "../deps.ts";
import type { WebContext } from "../env.ts";
import { flashAt } from "../flash.ts";
import { keysPath } from "../paths.ts";
import { may, programmeOf, viewerOf } from "../viewer.ts";
import { answerTab } from "./frame.ts";
import { takeIssued } from "./issued-cookie.ts";
import { type KeysView, keysSection } from "./keys-section.ts";
import { secretSection } from "./secret-section.ts";
import { parseLanguage, snippetsSection } from "./snippets-section.ts";
import { hiddenFields } from "./tab-form.ts";

/** Revoked keys shown below those in use. */
const MAX_REVOKED_SHOWN = 5;

export async function showKeys(c: WebContext, deps: WebDeps): Promise<Response> {
	const programme = programmeOf(c);
	const { db } = deps.store;
	const nowMs = deps.clock.nowMs();
	const view: KeysView = {
		path: keysPath(programme.public_id),
		hidden: hiddenFields(c, "keys", new URL(c.req.url).search),
		mayIntegrate: may(c, "integrate"),
		told: (part) => flashAt(c, part),
		nowMs,
		keys: await listApiKeys(db, programme.id, MAX_REVOKED_SHOWN),
		secrets: await findUsableSecrets(db, [programme.id], nowMs),
		issued: await takeIssued(c, deps, programme, viewerOf(c).personId, "keys"),
	};
	const values = {
		publicUrl: deps.publicUrl,
		brand: deps.network.face.brand,
		programId: programme.public_id,
	};
	return answerTab(c, {
		tab: "keys",
		hint: "What your server signs its requests with and checks our callbacks with, and code to start from.",
		body: html`${keysSection(view)}${secretSection(view)}${snippetsSection(
			view.path,
			parseLanguage(c.req.query("lang")),
			values,
			view.secrets.length > 1,
		)}`,
	});
}
