import { App } from "./app.js";

function fail(error) {
  const message = document.createElement("p");
  message.className = "fatal";
  message.textContent = error.message;
  document.getElementById("notices").replaceChildren(message);
  document.documentElement.dataset.state = "failed";
}

try {
  const app = new App();
  app.start().catch(fail);
} catch (error) {
  fail(error);
}
