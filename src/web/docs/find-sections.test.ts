import { deepEqual, equal, ok } from "node:assert/strict";
import { test } from "node:test";
import { cutSections, type DocsSection } from "./docs-sections.ts";
import { findSections, foldSection } from "./find-sections.ts";

const section = (title: string, text: string, change: Partial<DocsSection> = {}) =>
	foldSection({ href: `/docs#${title}`, title, trail: [], text, prose: text, terms: [], ...change });

const SECTIONS = [
	section("Mentions", "A bad_signature is answered 401. Retries are signed anew."),
	section("Retries", "Up to seven attempts, one callback after the other."),
	section("Bad signature", "bad_signature The signature does not match.", { code: "bad_signature" }),
];

const titles = (...words: string[]) =>
	findSections(SECTIONS, words).sections.map(({ section: { title } }) => title);

test("a code finds its own page first, and a title comes before a mention", () => {
	deepEqual(titles("bad_signature"), ["Bad signature", "Mentions"]);
	deepEqual(titles("retries"), ["Retries", "Mentions"]);
});

test("what explains a word comes before listings that mention it", () => {
	const mentioned = "signature ".repeat(20);
	const sections = [
		section("Receiver in PHP", mentioned, { prose: "" }),
		section("Answers", "The signature of each call, and whose signature it is."),
		section("Body", "Its signature", { terms: ["basketValue", "signature"] }),
		section("What is signed", "Five parts. Their HMAC is the signature."),
	];
	const found = findSections(sections, ["signature"]).sections.map((one) => one.section.title);
	deepEqual(found, ["Body", "What is signed", "Answers", "Receiver in PHP"]);
});

test("all words must be there; if no section has all, those with most are shown and said to be some", () => {
	deepEqual(titles("signature", "401"), ["Mentions"]);
	const found = findSections(SECTIONS, ["seven", "unicorn"]);
	deepEqual([found.sections.length, found.isPartial], [1, true]);
	deepEqual(findSections(SECTIONS, ["unicorn"]), { sections: [], total: 0, isPartial: true });
	deepEqual(findSections(SECTIONS, []), { sections: [], total: 0, isPartial: false });
});

test("the passage is around the words, which are marked in whatever case they stand", () => {
	const text = `${"before ".repeat(60)}the Nonce and the TIMESTAMP are signed ${"after ".repeat(60)}`;
	const [found] = findSections([section("x", text)], ["nonce", "timestamp"]).sections;
	const passage = (found?.passage ?? []).map((part) => part.text).join("");
	ok(passage.startsWith("… before") && passage.endsWith(" …"), passage);
	ok(passage.length <= 230, String(passage.length));
	deepEqual(
		found?.passage.filter(({ isMarked }) => isMarked).map((part) => part.text),
		["Nonce", "TIMESTAMP"],
	);
});

test("words that are everywhere take no longer than others", () => {
	const everywhere = Array.from({ length: 150 }, (_, at) =>
		section(`Part ${at}`, "aa bb cc dd ee ff gg hh ".repeat(1_200)),
	);
	const words = ["aa", "bb", "cc", "dd", "ee", "ff", "gg", "hh"];
	const before = process.cpuUsage();
	equal(findSections(everywhere, words).total, 150);
	const { user, system } = process.cpuUsage(before);
	// 80 ms of processor time; without a bound it was ten seconds.
	ok(user + system < 3_000_000, `${(user + system) / 1_000} ms`);
});

test("a page is cut at its headings into plain text, without buttons, tabs and captions", () => {
	const body = `<p>Intro &amp; more</p><h2 id="a">One <code>x</code><a class="heading-link" href="#a">#</a></h2><p>Text<strong>bold</strong></p>
<div class="code"><button data-copy="secret">Copy</button><pre><code><span class="code-name">a</span>&lt;b&gt;</code></pre></div>
<h3 id="b">Two</h3><table><caption>Table</caption><tr><td>one</td><td>two</td></tr></table>`;
	deepEqual(
		cutSections({ path: "/docs", title: "Guide", body }).map(({ text, prose, terms, ...where }) => [
			where,
			{ text, prose, terms },
		]),
		[
			[
				{ href: "/docs", title: "Guide", trail: [] },
				{ text: "Intro & more", prose: "Intro & more", terms: [] },
			],
			[
				{ href: "/docs#a", title: "One x", trail: ["Guide"] },
				{ text: "Textbold a<b>", prose: "Textbold", terms: [] },
			],
			[
				{ href: "/docs#b", title: "Two", trail: ["Guide", "One x"] },
				{ text: "one · two", prose: "one · two", terms: ["one"] },
			],
		],
	);
	const marked = `<p><code>bad_signature</code><span class="badge badge-bad">HTTP 401</span></p>`;
	equal(cutSections({ path: "/x", title: "X", body: marked })[0]?.text, "bad_signature HTTP 401");
	equal(cutSections({ path: "/x", title: "X", body: "<p>alone</p>" }).length, 1);
});
