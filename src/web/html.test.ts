import { equal } from "node:assert/strict";
import { test } from "node:test";
import { attrs } from "./ui.ts";

test("attributes are escaped, bare when true, and left out when there is nothing to say", () => {
	const written = attrs({
		value: `"><b a='1'>&`,
		placeholder: "",
		maxlength: 0,
		required: true,
		checked: false,
		id: undefined,
		"aria-label": null,
		class: ["button", false, undefined, "", "button-small"],
		"aria-describedby": [false, undefined],
	});
	equal(
		String(written),
		' value="&quot;&gt;&lt;b a=&#39;1&#39;&gt;&amp;" placeholder="" maxlength="0" required class="button button-small"',
	);
});
