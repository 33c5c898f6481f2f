// The four tabs of Integration share a header; each has an address of its own.

import { html } from "hono/html";
import type { Right } from "../../domain/roles.ts";
import type { Programme } from "../../store/programmes.ts";
import { pageHeader, tabs } from "../components/blocks.ts";
import { copyable } from "../components/text.ts";
import type { WebContext } from "../env.ts";
import type { Content, Html } from "../html.ts";
import { answerPage } from "../page.ts";
import { inboundPath, integrationPath, keysPath, signaturePath } from "../paths.ts";
import { may, programmeOf } from "../viewer.ts";

type Tab = "callbacks" | "keys" | "inbound" | "signature";

const TABS: readonly {
	tab: Tab;
	label: string;
	path(programmeId: string): string;
	/** Nothing to see there without it. */
	needs?: Right;
}[] = [
	{ tab: "callbacks", label: "Callbacks", path: integrationPath },
	{ tab: "keys", label: "Keys and snippets", path: keysPath },
	{ tab: "inbound", label: "Inbound log", path: inboundPath },
	{ tab: "signature", label: "Check a signature", path: signaturePath, needs: "integrate" },
];

export async function answerTab(
	c: WebContext,
	page: { tab: Tab; hint: Content; status?: number; body: Content },
): Promise<Response> {
	const programme = programmeOf(c);
	return answerPage(c, {
		title: `${TABS.find(({ tab }) => tab === page.tab)?.label} · Integration`,
		active: "integration",
		...(page.status === undefined ? {} : { status: page.status }),
		body: html`${pageHeader({ title: "Integration", hint: page.hint, actions: programmeId(programme) })}${tabs(
			"Integration",
			TABS.filter(({ needs = "look" }) => may(c, needs)).map(({ tab, label, path }) => ({
				label,
				href: path(programme.public_id),
				isActive: tab === page.tab,
			})),
		)}${page.body}`,
	});
}

function programmeId({ public_id: publicId }: Programme): Html {
	return html`<span class="small soft">Programme id</span> ${copyable(publicId, "the programme id")}`;
}
