// Starts the console in the browser.

import { render } from "preact";
import { App } from "./shell/app.tsx";
import "./styles/main.css";

render(<App />, document.body);
