// What scripts add to pages that work without them: times in the reader's zone, copy buttons, questions before
// something is done for good, no wait for a file that is too large, no form sent twice, select-all and what is selected, charts. Runs again
// for every fragment that htmx brings.

(() => {
	const dayOnly = dateFormat({ dateStyle: "medium" });
	// "long" names the zone.
	const timeOnly = dateFormat({ timeStyle: "long" });
	const minuteOnly = dateFormat({ timeStyle: "short" });
	const dayOfYear = dateFormat({ month: "short", day: "numeric" });
	// A day that has no time: the same one in every zone.
	const plainDay = dateFormat({ dateStyle: "medium", timeZone: "UTC" });
	const numbers = numberFormat();

	/** As the reader has chosen under Account, or else as their browser has it. */
	function dateFormat(options) {
		const { zone, locale } = document.documentElement.dataset;
		try {
			return new Intl.DateTimeFormat(locale, { timeZone: zone, ...options });
		} catch {
			// A zone that this browser has not heard of yet.
			return new Intl.DateTimeFormat(undefined, options);
		}
	}

	function numberFormat() {
		const options = { numberingSystem: "latn" };
		return new Intl.NumberFormat(document.documentElement.dataset.locale, options);
	}

	function showLocalTimes(root) {
		const thisYear = new Date().getFullYear();
		for (const element of root.querySelectorAll("time[datetime]")) {
			const at = new Date(element.dateTime);
			if (Number.isNaN(at.getTime())) continue;
			// In a narrow cell it may break between day and time, and nowhere else.
			const say = (parts) => parts.map((part) => part.format(at).replaceAll(" ", "\u00a0")).join(", ");
			if (!element.dateTime.includes("T")) element.textContent = say([plainDay]);
			else if (element.dataset.show === "day") element.textContent = say([dayOnly]);
			else if (element.closest("td") === null) element.textContent = say([dayOnly, timeOnly]);
			else {
				// Rows are read at a glance: to the minute, and the whole of it on hover.
				element.textContent = say([at.getFullYear() === thisYear ? dayOfYear : dayOnly, minuteOnly]);
				element.title = `${say([dayOnly, timeOnly])} (${element.dateTime.replace("T", " ").replace(/\.\d+Z/, " UTC")})`;
			}
		}
	}

	/** Days and times in a form are the reader's own, unless it came with an address that says whose they are. */
	function fillOwnZone(root) {
		const own = timeOnly.resolvedOptions().timeZone;
		for (const field of root.querySelectorAll("input[data-zone]")) {
			const days = [...field.form.querySelectorAll("input[type=date]")];
			if (field.value !== own && days.some(({ value }) => value !== "")) continue;
			field.value = own;
			for (const mark of field.form.querySelectorAll(".zone-mark")) mark.textContent = "";
			for (const name of field.form.querySelectorAll(".zone-name")) name.textContent = own;
		}
	}

	function offerCopying(root) {
		if (navigator.clipboard === undefined) return;
		for (const button of root.querySelectorAll("button[data-copy]")) button.hidden = false;
	}

	function offerSelectAll(root) {
		for (const box of root.querySelectorAll("input[data-select-all]")) box.hidden = false;
	}

	/** Digits and a point, added up without losing any. */
	function addAmounts(amounts) {
		const digits = Math.max(0, ...amounts.map((amount) => (amount.split(".")[1] ?? "").length));
		const minor = amounts.reduce((sum, amount) => {
			const [whole, decimals = ""] = amount.split(".");
			return sum + BigInt(whole + decimals.padEnd(digits, "0"));
		}, 0n);
		const text = String(minor).padStart(digits + 1, "0");
		const whole = numbers.format(BigInt(text.slice(0, text.length - digits)));
		const sign = numbers.formatToParts(0.5).find(({ type }) => type === "decimal").value;
		return digits === 0 ? whole : `${whole}${sign}${text.slice(-digits)}`;
	}

	/** What is ticked, and what it comes to. */
	function tellSelection(form) {
		const told = form.querySelector("[data-selection]");
		if (told === null) return;
		const all = form.querySelector("input[data-all-matching]:checked");
		const boxes = [...form.querySelectorAll('input[name="conversion"]:checked')];
		// No money hangs on a test.
		const live = boxes.filter(({ dataset }) => dataset.test === undefined);
		const sums = Map.groupBy(live, ({ dataset }) => dataset.currency);
		const words = [...sums].map(
			([currency, own]) => `${addAmounts(own.map(({ dataset }) => dataset.basket))} ${currency}`,
		);
		const tests = boxes.length - live.length;
		if (tests > 0) words.push(`${tests} ${tests === 1 ? "test" : "tests"} not in the sum`);
		if (all !== null) told.textContent = all.dataset.allMatching;
		else if (boxes.length === 0) told.textContent = "Nothing selected";
		else told.textContent = [`${boxes.length} selected`, ...words].join(" · ");
	}

	function tellSelections(root) {
		for (const told of root.querySelectorAll("[data-selection]")) tellSelection(told.closest("form"));
	}

	async function copy(button) {
		const label = button.textContent;
		try {
			await navigator.clipboard.writeText(button.dataset.copy);
			button.textContent = "Copied";
		} catch {
			button.textContent = "Select and copy";
		}
		setTimeout(() => {
			button.textContent = label;
		}, 1_500);
	}

	/** As the theme has it: the variable's own text names the colours of both. */
	function colourOf(plot, name) {
		const probe = document.createElement("span");
		probe.style.color = `var(--${name})`;
		plot.append(probe);
		const { color } = getComputedStyle(probe);
		probe.remove();
		return color;
	}

	/** Stacked bars are drawn from the top of the pile down, so that each shows only its own part. */
	function pile(series) {
		const sums = [];
		return series.map(({ values }) =>
			values.map((value, index) => (sums[index] = (sums[index] ?? 0) + value)),
		);
	}

	/** As many days as fit are named under the axis. */
	function nameDays(days, width) {
		const everySo = Math.max(1, Math.ceil((days.length * 64) / width));
		const monthDay = dateFormat({ month: "short", day: "numeric", timeZone: "UTC" });
		return (_, indexes) =>
			indexes.map((index) => {
				const day = Number.isInteger(index) && index % everySo === 0 ? days[index] : undefined;
				return day === undefined ? "" : monthDay.format(new Date(`${day}T00:00:00Z`));
			});
	}

	/** Whole numbers, at most six of them: no bar stands above the last. */
	function gridUpTo(most) {
		for (let power = 1; ; power *= 10) {
			const step = [1, 2, 5].map((digit) => digit * power).find((one) => most / one <= 5);
			if (step !== undefined) return Array.from({ length: Math.ceil(most / step) + 1 }, (_, at) => at * step);
		}
	}

	function drawChart(plot) {
		if (window.uPlot === undefined || plot.clientWidth === 0) return;
		const { days, series } = JSON.parse(plot.dataset.chart);
		const shown = pile(series);
		const order = series.map((_, index) => index).reverse();
		const grid = gridUpTo(Math.max(1, ...shown.flat()));
		const ink = colourOf(plot, "ink-faint");
		const line = colourOf(plot, "line");
		const font = "12px system-ui, sans-serif";
		plot.replaceChildren();
		new window.uPlot(
			{
				width: plot.clientWidth,
				height: 220,
				padding: [12, 4, 0, 0],
				scales: {
					x: { time: false, range: [-0.6, days.length - 0.4] },
					y: { range: [0, grid.at(-1)] },
				},
				cursor: { points: { show: false }, drag: { x: false, y: false } },
				axes: [
					{
						stroke: ink,
						font,
						grid: { show: false },
						ticks: { show: false },
						size: 30,
						splits: () => days.map((_, index) => index),
						values: nameDays(days, plot.clientWidth),
					},
					{
						stroke: ink,
						font,
						grid: { stroke: line, width: 1 },
						ticks: { show: false },
						size: 40,
						splits: () => grid,
						values: (_, ticks) => ticks.map((tick) => numbers.format(tick)),
					},
				],
				series: [
					{
						label: "Day",
						value: (_, index) => (days[index] === undefined ? "" : plainDay.format(new Date(days[index]))),
					},
					...order.map((index) => ({
						label: series[index].label,
						stroke: colourOf(plot, `chart-${series[index].colour}`),
						width: 0,
						fill: colourOf(plot, `chart-${series[index].colour}`),
						paths: window.uPlot.paths.bars({ size: [0.64, 44] }),
						value: (_, __, ___, at) => (at === null ? "" : numbers.format(series[index].values[at])),
						points: { show: false },
					})),
				],
			},
			[days.map((_, index) => index), ...order.map((index) => shown[index])],
			plot,
		);
	}

	function drawCharts(root) {
		for (const plot of root.querySelectorAll("[data-chart]")) drawChart(plot);
	}

	function enhance(root) {
		showLocalTimes(root);
		fillOwnZone(root);
		offerCopying(root);
		offerSelectAll(root);
		tellSelections(root);
		drawCharts(root);
	}

	document.addEventListener("click", (event) => {
		const target = event.target instanceof Element ? event.target : null;
		const copying = target?.closest("button[data-copy]");
		if (copying) copy(copying);
		const asking = target?.closest("button[data-confirm]");
		if (asking) {
			event.preventDefault();
			if (asking.formNoValidate || asking.form.reportValidity()) askBefore(asking);
		}
		for (const menu of document.querySelectorAll("details.menu[open]")) {
			if (!menu.contains(target)) menu.open = false;
		}
	});

	/** A box over the page: a sentence, and the buttons to answer it with. Resolves to the value of the pressed one. */
	function openBox(text, buttons) {
		const box = document.createElement("dialog");
		box.className = "box";
		const words = document.createElement("p");
		words.id = "box-words";
		words.textContent = text;
		box.setAttribute("aria-labelledby", words.id);
		const form = document.createElement("form");
		form.method = "dialog";
		form.className = "row";
		for (const { label, value, className } of buttons) {
			const button = document.createElement("button");
			Object.assign(button, { className: `button ${className}`, value, textContent: label });
			form.append(button);
		}
		box.append(words, form);
		document.body.append(box);
		box.showModal();
		return new Promise((resolve) => {
			box.addEventListener("close", () => {
				box.remove();
				resolve(box.returnValue);
			});
		});
	}

	async function askBefore(button) {
		const tone = button.classList.contains("button-danger") ? "button-danger" : "button-primary";
		const answer = await openBox(button.dataset.confirm, [
			{ label: button.textContent.trim(), value: "yes", className: tone },
			{ label: "Cancel", value: "", className: "button-quiet" },
		]);
		if (answer === "yes") button.form?.requestSubmit(button);
	}

	function tell(text) {
		return openBox(text, [{ label: "Close", value: "", className: "" }]);
	}

	document.addEventListener("keydown", (event) => {
		if (event.key !== "Escape") return;
		for (const menu of document.querySelectorAll("details.menu[open]")) {
			menu.open = false;
			menu.querySelector("summary")?.focus();
		}
	});

	/** Then the form is not sent, and the browser says why: the server's own words would come after the whole file. */
	document.addEventListener("change", ({ target: field }) => {
		if (!(field instanceof HTMLInputElement) || field.dataset.maxBytes === undefined) return;
		const isTooLarge = [...field.files].some(({ size }) => size > Number(field.dataset.maxBytes));
		field.setCustomValidity(isTooLarge ? field.dataset.tooLarge : "");
		if (isTooLarge) field.reportValidity();
	});

	document.addEventListener("change", (event) => {
		const box = event.target;
		if (!(box instanceof HTMLInputElement) || box.type !== "checkbox") return;
		if (box.dataset.selectAll !== undefined) {
			const others = `input[type="checkbox"][name="${box.dataset.selectAll}"]`;
			for (const other of document.querySelectorAll(others)) other.checked = box.checked;
		}
		if (box.form !== null) tellSelection(box.form);
	});

	const DOUBLE_CLICK_MS = 500;
	/** Whoever stopped the page from loading may try again. */
	const LONGEST_ANSWER_MS = 10_000;
	/** Until when a form is not sent again, and a button not pressed again. */
	let heldUntilMs = new WeakMap();
	const pressedIn = new WeakMap();

	/** A double click sends a form once: the answer to the first, which may show a secret, would never be seen. */
	function sendOnce(event) {
		const form = event.target;
		if (form.getAttribute("method") !== "post") return;
		const pressed = event.submitter ?? form;
		const nowMs = performance.now();
		if ([form, pressed].some((held) => nowMs < (heldUntilMs.get(held) ?? 0))) {
			event.preventDefault();
			event.stopImmediatePropagation();
			return;
		}
		heldUntilMs.set(form, nowMs + LONGEST_ANSWER_MS);
		pressedIn.set(form, pressed);
	}
	// Before htmx, which sends some forms itself.
	document.addEventListener("submit", sendOnce, { capture: true });
	document.addEventListener("htmx:finally:request", ({ detail: { ctx } }) => {
		const pressed = pressedIn.get(ctx.sourceElement);
		if (pressed === undefined) return;
		heldUntilMs.delete(ctx.sourceElement);
		heldUntilMs.set(pressed, performance.now() + DOUBLE_CLICK_MS);
	});
	addEventListener("pageshow", () => {
		heldUntilMs = new WeakMap();
	});

	/** On a phone the bars of links are wider than the screen: the page one is on must not be out of sight. */
	function showCurrentLink() {
		for (const link of document.querySelectorAll(".sidebar [aria-current], .tabs-list [aria-current]")) {
			const bar = link.parentElement;
			const ahead = link.getBoundingClientRect().right - bar.getBoundingClientRect().right;
			if (ahead > 0) bar.scrollLeft += ahead + bar.clientWidth / 4;
		}
	}

	/** Beside a long document: the part one reads is marked, and in sight. */
	function followOutline() {
		const outline = document.querySelector(".docs-outline");
		if (outline === null) return;
		const parts = [...outline.querySelectorAll("a")].flatMap((link) => {
			const heading = document.getElementById(decodeURIComponent(link.hash.slice(1)));
			return heading === null ? [] : [{ link, heading }];
		});
		let isAsked = false;
		function mark() {
			isAsked = false;
			const present = parts.findLast(({ heading }) => heading.getBoundingClientRect().top < innerHeight / 3);
			for (const { link } of parts) {
				if (link === present?.link) link.setAttribute("aria-current", "true");
				else link.removeAttribute("aria-current");
			}
			if (present === undefined) return;
			const side = outline.parentElement.getBoundingClientRect();
			const { top, bottom } = present.link.getBoundingClientRect();
			if (top < side.top || bottom > side.bottom)
				outline.parentElement.scrollTop += top - side.top - side.height / 3;
		}
		function ask() {
			if (!isAsked) requestAnimationFrame(mark);
			isAsked = true;
		}
		addEventListener("scroll", ask, { passive: true });
		ask();
	}

	const REOPEN_MS = 5_000;
	/** A service that is just starting. */
	const REOPEN_AFTER_FAILURE_MS = 30_000;
	/** Doubled each time that there is still no room: whoever has a stream keeps it for long. */
	const REOPEN_WHEN_FULL_MS = 10_000;
	const LONGEST_REOPEN_MS = 80_000;
	let refusals = 0;

	function sayLive(isLive) {
		for (const dot of document.querySelectorAll(".live-dot")) {
			dot.textContent = isLive ? "Live" : "Not live: reload to see what is new";
			dot.classList.toggle("live-dot-off", !isLive);
			dot.hidden = false;
		}
	}

	/** A page that nobody looks at takes no stream from one that somebody does. */
	function reopen(source) {
		if (document.hidden) {
			document.addEventListener("visibilitychange", () => reopen(source), { once: true });
		} else if (source.isConnected) {
			window.htmx.trigger(source, "reopen");
		}
	}

	/** htmx comes back by itself to a stream that was open, but not to one that could not be opened. */
	function reopenLater({ detail: { ctx } }) {
		const source = ctx?.sourceElement;
		const status = ctx?.response?.status ?? 0;
		if (!source?.hasAttribute("hx-sse:connect")) return;
		sayLive(false);
		if (status > 0 && status < 500) return;
		setTimeout(() => reopen(source), status === 0 ? REOPEN_MS : REOPEN_AFTER_FAILURE_MS);
	}

	function waitForRoom({ target }) {
		sayLive(false);
		setTimeout(() => reopen(target), Math.min(LONGEST_REOPEN_MS, REOPEN_WHEN_FULL_MS * 2 ** refusals));
		refusals += 1;
	}

	/** htmx would be back within seconds where there is no room, and would open a stream in the background. */
	function judgeConnection(event) {
		const { attempt } = event.detail.connection;
		if (attempt > 0 && refusals > 0) event.preventDefault();
		if (attempt === 0 && document.hidden) {
			event.preventDefault();
			reopen(event.target);
		}
	}

	document.addEventListener("opened", () => {
		refusals = 0;
		sayLive(true);
	});
	document.addEventListener("full", waitForRoom);
	document.addEventListener("htmx:sse:before:connection", judgeConnection);
	for (const name of ["htmx:sse:error", "htmx:sse:close"]) {
		document.addEventListener(name, () => sayLive(false));
	}

	/** A form that changes a part of the page was answered with another page: the sign-in, or an error. */
	function tellInstead(event) {
		const { ctx, tasks } = event.detail;
		if (!(ctx.sourceElement instanceof HTMLFormElement)) return;
		if (tasks.some(({ type, fragment }) => type === "main" && fragment.childElementCount > 0)) return;
		event.preventDefault();
		// What is shown once stays, whatever went wrong.
		const isKept = document.querySelector("[data-shown-once]") !== null;
		if (ctx.response.raw.redirected && !isKept) location.reload();
		else tell(wordsOf(ctx.text));
	}

	function wordsOf(page) {
		const main = new DOMParser().parseFromString(page, "text/html").querySelector("main");
		const words = [...(main?.querySelectorAll("h1, p") ?? [])].map(({ textContent }) => textContent.trim());
		return words.slice(0, 2).join("\n") || "That did not work. Try again in a moment.";
	}

	/** Nobody else says so: the page stays as it was. */
	function tellUnreachable({ detail: { ctx } }) {
		if (ctx?.sourceElement instanceof HTMLFormElement) {
			tell("The service does not answer. Try again in a moment.");
		}
	}

	let resizing;
	addEventListener("resize", () => {
		clearTimeout(resizing);
		resizing = setTimeout(() => drawCharts(document), 150);
	});
	matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => drawCharts(document));
	document.addEventListener("htmx:before:swap", tellInstead);
	document.addEventListener("htmx:after:swap", () => enhance(document));
	document.addEventListener("htmx:error", reopenLater);
	document.addEventListener("htmx:error", tellUnreachable);
	document.addEventListener("htmx:response:error", reopenLater);
	enhance(document);
	showCurrentLink();
	followOutline();
})();
