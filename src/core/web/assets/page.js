// Improvements for pages that also work without scripts: times in the reader's language and zone, copy buttons, confirmation dialogs, an
// early check of file sizes, protection against sending a form twice, select-all, and charts. It runs again for every
// fragment that htmx loads.

(() => {
	const formatsOfZones = new Map();
	// A day without a time is the same in every zone, so it must not be converted.
	const plainDay = dateFormat({ dateStyle: "medium", timeZone: "UTC" });
	const numbers = numberFormat();

	/**
	 * Returns the formats of times in a zone. Times of lists that have days of the network name its zone. Other times are in
	 * that of the reader's account.
	 */
	function formatsIn(zone = document.documentElement.dataset.zone) {
		if (!formatsOfZones.has(zone)) {
			formatsOfZones.set(zone, {
				year: dateFormat({ year: "numeric" }, zone),
				dayOnly: dateFormat({ dateStyle: "medium" }, zone),
				// The style "long" includes the name of the time zone.
				timeOnly: dateFormat({ timeStyle: "long" }, zone),
				minuteOnly: dateFormat({ timeStyle: "short" }, zone),
				dayOfYear: dateFormat({ month: "short", day: "numeric" }, zone),
			});
		}
		return formatsOfZones.get(zone);
	}

	/** Returns a format in the language of the reader's account. The default language and zone are those of the browser. */
	function dateFormat(options, zone) {
		const { locale } = document.documentElement.dataset;
		try {
			return new Intl.DateTimeFormat(locale, { timeZone: zone, ...options });
		} catch {
			// This browser does not know the zone.
			return new Intl.DateTimeFormat(undefined, options);
		}
	}

	function numberFormat() {
		const options = { numberingSystem: "latn" };
		return new Intl.NumberFormat(document.documentElement.dataset.locale, options);
	}

	function showLocalTimes(root) {
		const now = new Date();
		for (const element of root.querySelectorAll("time[datetime]")) {
			const at = new Date(element.dateTime);
			if (Number.isNaN(at.getTime())) continue;
			// Spaces do not break, so that a narrow cell breaks the line only between the day and the time.
			const say = (parts) => parts.map((part) => part.format(at).replaceAll(" ", "\u00a0")).join(", ");
			const { year, dayOnly, timeOnly, minuteOnly, dayOfYear } = formatsIn(element.dataset.zone);
			if (!element.dateTime.includes("T")) element.textContent = say([plainDay]);
			else if (element.dataset.show === "day") element.textContent = say([dayOnly]);
			else if (element.closest("td") === null) element.textContent = say([dayOnly, timeOnly]);
			else {
				// A table cell shows only hours and minutes. The exact time appears on hover.
				element.textContent = say([year.format(at) === year.format(now) ? dayOfYear : dayOnly, minuteOnly]);
				element.title = `${say([dayOnly, timeOnly])} (${element.dateTime.replace("T", " ").replace(/\.\d+Z/, " UTC")})`;
			}
		}
	}

	/** Shows the controls that need scripts. */
	function offerControls(root) {
		const copying = navigator.clipboard === undefined ? "" : ", button[data-copy]";
		const controls = `input[data-select-all], button[data-print]${copying}`;
		for (const control of root.querySelectorAll(controls)) control.hidden = false;
	}

	function tellSelection(form) {
		const told = form.querySelector("[data-selection]");
		if (told === null) return;
		const isAll = form.querySelector('input[name="all"]:checked') !== null;
		const count = form.querySelectorAll("td > input[type=checkbox]:checked").length;
		told.textContent = isAll ? "All that match the filters" : `${numbers.format(count)} selected`;
	}

	async function copy(button) {
		const label = button.textContent;
		try {
			// The button of a code block has no text of its own and copies the code.
			const text = button.dataset.copy || button.parentElement.querySelector("code").textContent;
			await navigator.clipboard.writeText(text);
			button.textContent = "Copied";
		} catch {
			button.textContent = "Select and copy";
		}
		setTimeout(() => {
			button.textContent = label;
		}, 1_500);
	}

	/** Returns a colour of the current theme. The variable's own text contains the colours of both themes. */
	function colourOf(plot, name) {
		const probe = document.createElement("span");
		probe.style.color = `var(--${name})`;
		plot.append(probe);
		const { color } = getComputedStyle(probe);
		probe.remove();
		return color;
	}

	/** Returns running sums for stacked bars. They are drawn from the highest to the lowest, so that each covers the next. */
	function pile(series) {
		const sums = [];
		return series.map(({ values }) =>
			values.map((value, index) => (sums[index] = (sums[index] ?? 0) + value)),
		);
	}

	/** Labels as many days as fit below the axis. */
	function nameDays(days, width) {
		const everySo = Math.max(1, Math.ceil((days.length * 64) / width));
		const monthDay = dateFormat({ month: "short", day: "numeric", timeZone: "UTC" });
		return (_, indexes) =>
			indexes.map((index) => {
				const day = Number.isInteger(index) && index % everySo === 0 ? days[index] : undefined;
				return day === undefined ? "" : monthDay.format(new Date(`${day}T00:00:00Z`));
			});
	}

	/** Returns at most six whole numbers for the grid. The last one is at least as high as the highest bar. */
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
		offerControls(root);
		for (const told of root.querySelectorAll("[data-selection]")) tellSelection(told.closest("form"));
		drawCharts(root);
	}

	document.addEventListener("click", (event) => {
		const target = event.target instanceof Element ? event.target : null;
		const copying = target?.closest("button[data-copy]");
		if (copying) copy(copying);
		if (target?.closest("button[data-print]")) print();
		const asking = target?.closest("button[data-confirm]");
		if (asking) {
			event.preventDefault();
			if (asking.formNoValidate || asking.form.reportValidity()) askBefore(asking);
		}
		for (const menu of document.querySelectorAll("details.menu[open]")) {
			if (!menu.contains(target)) menu.open = false;
		}
	});

	/** Opens a dialog with a sentence and buttons. Resolves to the value of the button that was pressed. */
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

	document.addEventListener("keydown", (event) => {
		if (event.key !== "Escape") return;
		for (const menu of document.querySelectorAll("details.menu[open]")) {
			menu.open = false;
			menu.querySelector("summary")?.focus();
		}
	});

	document.addEventListener("change", ({ target: field }) => {
		if (!(field instanceof HTMLInputElement)) return;
		const { maxBytes, tooLarge, selectAll } = field.dataset;
		// A file that is too large is refused here, because the server could refuse it only after the whole upload.
		if (maxBytes !== undefined) {
			const isTooLarge = [...field.files].some(({ size }) => size > Number(maxBytes));
			field.setCustomValidity(isTooLarge ? tooLarge : "");
			if (isTooLarge) field.reportValidity();
		}
		if (selectAll !== undefined) {
			const others = document.querySelectorAll(`input[type="checkbox"][name="${selectAll}"]`);
			for (const other of others) other.checked = field.checked;
		}
		if (field.type === "checkbox" && field.form !== null) tellSelection(field.form);
	});

	const DOUBLE_CLICK_MS = 500;
	/** Time after which a form may be sent again although no answer came, for example if the reader stopped the page from loading. */
	const LONGEST_ANSWER_MS = 10_000;
	/** Time until which a form must not be sent again, by form. */
	let heldUntilMs = new WeakMap();

	/** Prevents a double click from sending a form twice. The second answer would replace the first, which may show a secret. */
	function sendOnce(event) {
		const form = event.target;
		if (form.getAttribute("method") !== "post") return;
		const nowMs = performance.now();
		if (nowMs < (heldUntilMs.get(form) ?? 0)) {
			event.preventDefault();
			event.stopImmediatePropagation();
		} else heldUntilMs.set(form, nowMs + LONGEST_ANSWER_MS);
	}
	// The listener uses the capture phase, because it must run before htmx, which sends some forms itself.
	document.addEventListener("submit", sendOnce, { capture: true });
	document.addEventListener("htmx:finally:request", ({ detail: { ctx } }) => {
		if (isForm(ctx)) heldUntilMs.set(ctx.sourceElement, performance.now() + DOUBLE_CLICK_MS);
	});
	addEventListener("pageshow", () => {
		heldUntilMs = new WeakMap();
	});

	/** Scrolls the navigation to the current link, because on a phone it is wider than the screen. */
	function showCurrentLink() {
		for (const link of document.querySelectorAll(".sidebar [aria-current], .tabs-list [aria-current]")) {
			const bar = link.parentElement;
			const ahead = link.getBoundingClientRect().right - bar.getBoundingClientRect().right;
			if (ahead > 0) bar.scrollLeft += ahead + bar.clientWidth / 4;
		}
	}

	/** Ignores an answer without the requested element, such as the sign-in or an error page. */
	function keepPart(event) {
		const { ctx, tasks } = event.detail;
		if (tasks.some(({ type, fragment }) => type === "main" && fragment.childElementCount > 0)) return;
		event.preventDefault();
		// A secret that is shown only once must stay on the page, so the page is not reloaded then.
		const isKept = document.querySelector("[data-shown-once]") !== null;
		if (ctx.response.raw.redirected && !isKept && isForm(ctx)) location.reload();
		else tellFailure(event);
	}

	/** Tells the reader that a form failed, because the page itself does not change. */
	function tellFailure({ detail: { ctx } }) {
		if (isForm(ctx))
			openBox("That did not work. Try again in a moment.", [{ label: "Close", value: "", className: "" }]);
	}

	function isForm(ctx) {
		return ctx?.sourceElement instanceof HTMLFormElement;
	}

	/** Cancels the polls of a page that is in a hidden tab. */
	function saveRequest(event) {
		if (document.hidden && event.detail.ctx.request.method === "GET") event.preventDefault();
	}

	let resizing;
	addEventListener("resize", () => {
		clearTimeout(resizing);
		resizing = setTimeout(() => drawCharts(document), 150);
	});
	matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => drawCharts(document));
	document.addEventListener("htmx:before:request", saveRequest);
	document.addEventListener("htmx:before:swap", keepPart);
	document.addEventListener("htmx:after:swap", () => enhance(document));
	document.addEventListener("htmx:error", tellFailure);
	enhance(document);
	showCurrentLink();
})();
