// `ringback key issue`.

import { issueKey } from "../accounts/keys.ts";
import { succeed } from "../domain/fault.ts";
import { workplaceCommand } from "./workplace-command.ts";

export const keyIssueCommand = workplaceCommand({
	name: "key issue",
	summary:
		"Issues an API key. The programme's first key comes with its signing secret; both are shown only once.",
	options: {
		programme: { type: "string", value: "ID", help: "the programme's id, prg_…", isRequired: true },
		name: { type: "string", value: "TEXT", help: "what people call it, such as “Shop server”" },
	},
	async work(workplace, options) {
		const issued = await issueKey(workplace, options.text("programme"), null, options.text("name"));
		if (!issued.ok) return issued;
		const { keyId, name, key, secret } = issued.value;
		const text = [
			`API key         ${key}   (${name}, ${keyId})`,
			`Signing secret  ${secret ?? "as before: it came with the first key"}`,
			"They are not shown again: keep them where your shop keeps its passwords.",
		].join("\n");
		return succeed({ json: { id: keyId, name, key, secret }, text });
	},
});
